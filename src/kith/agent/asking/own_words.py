"""The words of a file in place of kith's own, or behind them: what a person tells a worker of who it is."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from kith.agent.roles import RoleSpec
from kith.core.errors import UsageError
from kith.settings import Settings

_LARGEST: Final = 256 << 10  # bytes; no system prompt is that long


def in_own_words(spec: RoleSpec, chosen: Settings) -> RoleSpec:
    """The role as the person words it with `system` and `append_system`. Raises UsageError."""
    if chosen.system:
        words = _read(chosen.system, chosen.config)
        spec = replace(spec, words=words, small_words=words)
    if chosen.append_system:
        more = _read(chosen.append_system, chosen.config)
        spec = replace(spec, words=f"{spec.words}\n{more}", small_words=f"{spec.small_words}\n{more}")
    return spec


def _read(name: str, folder: Path) -> str:
    """The words of a file, which is in the folder of configuration where its name is not absolute."""
    path = folder / Path(name).expanduser()
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file.")
        data = path.read_bytes()
        text = data.decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not written in UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}.") from error
    if not text or len(data) > _LARGEST:
        raise UsageError(f"{path} {'is empty' if not text else 'is longer than any system prompt'}.")
    return f"{text}\n"
