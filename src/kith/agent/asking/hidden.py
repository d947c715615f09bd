"""Find what no cloud model may see of a project: private files, and secret values anywhere."""

import asyncio
import os
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from kith.agent.known_secrets import keys_of
from kith.agent.project import Project
from kith.context.redact import Redactor
from kith.context.secrets import SECRET_FILES, is_secret_file, values_in, values_of_environment
from kith.settings import Settings
from kith.tools.veiled import Veil
from kith.trees.private_files import Private, find_former, find_private

T = TypeVar("T")
_EMPTY: Final = 8  # bytes; what is shorter holds nothing by which a file could be known


class Hidden(Struct, frozen=True):
    """The files, and every secret value that is known."""

    veil: Veil
    values: tuple[str, ...]


async def find_hidden(project: Project) -> Hidden:
    """Look through the tree, the environment and the settings."""
    root = project.tree.root
    private, former = await asyncio.gather(
        find_private(root, _tells), find_former(root, SECRET_FILES, is_secret_file)
    )
    values = _values(private, root, project.settings)
    values += tuple(value for data in former for value in values_in(data.decode("utf-8", "replace")))
    return Hidden(_veil(private), tuple(dict.fromkeys(values)))


async def find_masked(project: Project) -> tuple[str, ...]:
    """List the files that nothing beside a cloud model may read."""
    return _veil(await find_private(project.tree.root, _tells)).masked


async def keep_secrets(project: Project, told: T) -> T:
    """Remove secrets from data that leaves the machine."""
    redactor = Redactor((await find_hidden(project)).values)
    return redactor.strip(told, kept=frozenset())


def _tells(path: str, ignored: bool) -> bool:
    return is_secret_file(path, ignored=ignored)


def _veil(private: Private) -> Veil:
    named = {*private.ignored, *private.known}
    contents = (data for path, data in private.contents.items() if path in named and len(data) >= _EMPTY)
    digests = frozenset(sha256(data).hexdigest() for data in contents)
    return Veil(frozenset(named), private.ignored, digests)


def _values(private: Private, root: Path, chosen: Settings) -> tuple[str, ...]:
    """Every secret value that is known: of files, of the environment, of the settings."""
    named = {*private.ignored, *private.known}
    found = list(keys_of(chosen))
    found += values_of_environment(os.environ)
    for path, data in private.contents.items():
        found += values_in(data.decode("utf-8", "replace"), sure=path in named)
    found += values_in(_git_settings(root), sure=False)
    return tuple(dict.fromkeys(found))


def _git_settings(root: Path) -> str:
    """git's own settings of the tree: addresses in it may hold a password."""
    try:
        return (root / ".git" / "config").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
