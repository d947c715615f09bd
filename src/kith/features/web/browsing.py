"""A project's files and settings, as a person may see them over the network: without secrets."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from kith.agent.project import Project
from kith.context.redact import Redactor
from kith.context.secrets import is_secret_file
from kith.core.errors import TreeError
from kith.core.values import SYMLINK
from kith.settings import describe_settings
from kith.tools.answers import decode, split_lines
from kith.tools.paths import inside
from kith.trees.files import look_at

LARGEST: Final = 2_000_000  # bytes of a file that is shown


class FileListing(Struct, frozen=True):
    """Files of a folder, however deep: as many as were wanted, of `total`."""

    files: tuple[str, ...]
    total: int


class Page(Struct, frozen=True):
    """Lines `start` to `end` (from 1) of a file that has so many `lines` and `bytes`."""

    path: str
    text: str
    start: int
    end: int
    lines: int
    bytes: int


async def list_files(project: Project, folder: str = "", limit: int = 2_000) -> FileListing:
    """The files that git does not ignore, in a folder ("": all). Raises TreeError."""
    files = await project.tree.files()
    chosen = inside(files, folder.strip("/") or ".")
    return FileListing(tuple(chosen[:limit]), len(chosen))


async def read_file(project: Project, path: str, start: int = 1, end: int = 0) -> Page:
    """Lines of a text file that git does not ignore; `end` 0: to the last one.

    Raises TreeError for everything else: other paths, links, secrets, what is no text.
    """
    found = look_at(project.root, path) if path in await project.tree.files() else None
    if found is None:
        raise TreeError("The project has no such file, or git ignores it")
    if is_secret_file(path):
        raise TreeError("It looks like it holds secrets, which are not shown here")
    if found.mode == SYMLINK:  # it may lead to a secret, or out of the project
        raise TreeError("It is a link, which is not followed here")
    data = found.content
    if len(data) > LARGEST:
        raise TreeError(f"It has {len(data):,} bytes; up to {LARGEST:,} are shown")
    if b"\0" in data:
        raise TreeError("It is no text")
    lines = split_lines(decode(data)[0])
    last = min(end or len(lines), len(lines))
    text = "\n".join(lines[start - 1 : last])
    return Page(path, text, start, max(last, start - 1), len(lines), len(data))


def show_settings(project: Project) -> Sequence[tuple[str, str, str]]:
    """Each setting, its value in words, and where it came from; whatever looks like a secret is left out."""
    chosen = project.settings
    keys = (chosen.openai_api_key, chosen.anthropic_api_key, chosen.gemini_api_key)
    redactor = Redactor(filter(None, keys))
    return [(key, redactor.clean(value)[0], origin) for key, value, origin in describe_settings(chosen)]
