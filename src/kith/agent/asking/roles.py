"""Roles in the words of kith or of the user, and an opened model in one of them."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kith.agent.permits import permits_of
from kith.agent.project import Project
from kith.agent.roles import Player, hold_to, is_small, make_role, read_role
from kith.agent.roles import RoleSpec as RoleSpec
from kith.core.errors import UsageError
from kith.core.model import Model, Tool
from kith.core.policy import Rule
from kith.models.stack import Opened
from kith.settings import Settings
from kith.settings.brought import ROLES
from kith.tools.wrappers import watch_repeats


@cache
def _shipped(name: str) -> RoleSpec:
    return read_role(name, files("kith.roles").joinpath(f"{name}.md").read_text(encoding="utf-8"))


def role_names() -> list[str]:
    """The built-in roles."""
    found = (entry.name for entry in files("kith.roles").iterdir())
    return sorted(name.removesuffix(".md") for name in found if name.endswith(".md"))


def find_role(name: str, chosen: Settings | None = None) -> RoleSpec:
    """A role as the person wrote it, else as a project does that they trust, else as kith has it.

    Raises UsageError for a role that is not well written, or of a project that wants more than kith's own.
    """
    if chosen and has_own(name, chosen):
        return _read_own(name, chosen.roles / f"{name}.md")
    path = f"{ROLES}/{name}.md"
    text = chosen.brought.text(path) if chosen else ""
    return hold_to(_shipped(name), read_role(name, text, path)) if text else _shipped(name)


def has_own(name: str, chosen: Settings) -> bool:
    """True if the person wrote a role of this name."""
    return (chosen.roles / f"{name}.md").is_file()


def _read_own(name: str, path: Path) -> RoleSpec:
    try:
        return read_role(name, path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def make_player(
    project: Project,
    spec: RoleSpec,
    opened: Opened,
    model: Model,
    tools: tuple[Tool, ...],
    *,
    small: bool = False,
    veiled: bool = False,
) -> Player:
    """The role, played by `opened` as it is wrapped in `model`, with those of the tools that it names.

    `small`: a model that gets the short words, whatever its window. `veiled`: private files are kept from it,
    which no command can be held to without a sandbox.
    """
    chosen, small = project.settings, small or is_small(opened.window)
    sampling = replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens)
    confined = project.tree.confined
    role = make_role(spec, model, watch_repeats(tools), sampling, confined=confined, small=small)
    role = replace(role, policy=replace(role.policy, permits=permits_of(project, veiled=veiled)))
    if chosen.offline:
        closed = (*role.policy.rules, Rule("net", "*", "deny"), Rule("web", "*", "deny"))
        role = replace(role, policy=replace(role.policy, rules=closed))
    return Player(role, opened.window, small)


# --- the words of a file in place of kith's own, or behind them ----------------------------------


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
