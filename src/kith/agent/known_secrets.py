"""The secret values that are known at once: of settings, the environment, and files made for them."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from kith.context.redact import Redactor
from kith.context.secrets import is_guarded, is_secret_file, is_unguessable, values_in, values_of_environment
from kith.core.values import Changes
from kith.settings import Settings
from kith.settings.brought import read_plain
from kith.trees.walk import walk

_DEPTH: Final = 2  # folders below the top in which a file such as .env is looked for
_MOST: Final = 4_000  # entries that are looked at
_LARGEST: Final = 65_536  # bytes
_NEVER: Final = re.compile(
    r"\.git|\.hg|\.svn|node_modules|\.?venv|__pycache__|\.tox|\.nox|\..*_cache|build|target"
)


def make_redactor(root: Path, chosen: Settings, changes: Changes = ()) -> Redactor:
    """Make a redactor of these values for the log, with the old and new secrets of `changes`."""
    changed = [each for each in changes if is_secret_file(each.path)]
    texts = (
        text.decode("utf-8", "replace") for each in changed for text in (each.before, each.after) if text
    )
    return Redactor((*known_values(root, chosen), *(value for text in texts for value in values_in(text))))


def known_values(root: Path, chosen: Settings) -> tuple[str, ...]:
    """Find secrets without searching the whole tree, which is only done for cloud models."""
    found = [*keys_of(chosen), *values_of_environment(os.environ)]
    for path in _secret_files(root):
        found += values_in(_text(path))
    return tuple(dict.fromkeys(found))


def keys_of(chosen: Settings) -> tuple[str, ...]:
    """The keys of services that the person set."""
    named = (os.environ.get(name, "") for each in chosen.endpoints.values() for name in each.key_variables)
    written = (value for each in chosen.endpoints.values() for value in each.headers.values())
    keys = (chosen.openai_api_key, chosen.anthropic_api_key, chosen.gemini_api_key, *named, *written)
    return tuple(filter(is_guarded, (*keys, *_keys_of_servers(chosen))))


def _keys_of_servers(chosen: Settings) -> Iterator[str]:
    """Yield keys and secret-looking values in the settings of tool servers."""
    for server in chosen.mcp.values():
        yield os.environ.get(server.key_env, "")
        passed = {name: os.environ.get(name, "") for name in (*server.pass_env, *server.headers_env.values())}
        in_command = dict(word.split("=", 1) for word in server.command if "=" in word)  # --api-key=...
        in_address = dict(parse_qsl(urlsplit(server.url).query))
        told = {**in_command, **in_address, **server.env, **passed}
        yield from values_of_environment(told)
        yield from filter(is_unguessable, told.values())


def _secret_files(root: Path) -> Iterator[Path]:
    """Files near the top whose names say that they hold secrets; no link is followed."""
    seen = 0
    for visit in walk(root):
        depth = visit.inside.count("/")
        visit.folders = sorted(
            name for name in visit.folders if depth < _DEPTH and not _NEVER.fullmatch(name)
        )
        seen += len(visit.files) + len(visit.folders)
        if seen > _MOST:
            return
        yield from (root / visit.path / name for name in sorted(visit.files) if is_secret_file(name))


def _text(path: Path) -> str:
    """A small plain file's text; "" where it is none."""
    with suppress(OSError):
        data = read_plain(path, _LARGEST + 1) or b""
        return "" if len(data) > _LARGEST or b"\0" in data else data.decode("utf-8", "replace")
    return ""
