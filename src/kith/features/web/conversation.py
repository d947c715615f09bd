"""`/export` in a conversation."""

import os
from pathlib import Path
from typing import Final

from kith.agent.asking.hidden import keep_secrets
from kith.core.errors import UsageError
from kith.core.run import short_session
from kith.features.web.export_command import write_session
from kith.terminal.conversation.talk import Talk
from kith.terminal.streams import write_output
from kith.view.lines import from_home
from kith.view.printing import printable

_KINDS: Final = ("md", "html", "json")
_FORMATS: Final = tuple(f".{kind}" for kind in _KINDS)


async def export(talk: Talk, rest: str) -> None:
    """Write the conversation to a file. Raises UsageError."""
    if talk.past.started is None:
        raise UsageError("Nothing was said here yet.")
    path = _target(talk, rest)
    if path.exists():
        words = f"{printable(from_home(str(path)))} is there already. Replace it?  [y]es  [n]o"
        if await talk.terminal.press(words, "yn") != "y":
            return
    told = write_session(talk.project.log, talk.id, path.suffix[1:])
    told = await keep_secrets(talk.project, told)
    write_output(path, told)
    talk.say(f"Wrote {printable(from_home(str(path)))}.", "green")


def _target(talk: Talk, rest: str) -> Path:
    """The file to write: as it is named, from the folder of the conversation. Raises UsageError."""
    name = f"kith-{short_session(talk.id)}"
    if not rest or rest in _KINDS:
        return _outside(talk.root, talk.project.settings.state) / f"{name}.{rest or 'md'}"
    path = talk.root / Path(rest).expanduser()
    if path.is_dir():
        return path / f"{name}.md"
    if path.suffix not in _FORMATS:
        raise UsageError(f"A conversation is written to a file that ends in {', '.join(_FORMATS)}.")
    return path


def _outside(root: Path, state: Path) -> Path:
    """A folder for exports that is no part of the tree: the person's downloads, else kith's own."""
    downloads = Path("~/Downloads").expanduser()
    usable = downloads.is_dir() and os.access(downloads, os.W_OK) and not downloads.is_relative_to(root)
    if usable:
        return downloads
    own = state / "exports"
    own.mkdir(exist_ok=True)
    return own
