"""`/export` in a conversation."""

from pathlib import Path
from typing import Final

from kith.agent.asking.hidden import keep_secrets
from kith.core.errors import KithError, UsageError
from kith.core.run import short_session
from kith.features.web.export_command import write_session
from kith.terminal.conversation.talk import Talk
from kith.view.lines import from_home
from kith.view.printing import printable

_FORMATS: Final = (".md", ".html", ".json")


async def export(talk: Talk, rest: str) -> None:
    """Write the conversation to a file. Raises UsageError, KithError."""
    if talk.past.started is None:
        raise UsageError("Nothing was said here yet.")
    path = _target(talk, rest)
    if path.exists():
        words = f"{printable(from_home(str(path)))} is there already. Replace it?  [y]es  [n]o"
        if await talk.terminal.press(words, "yn") != "y":
            return
    told = write_session(talk.project.log, talk.id, path.suffix[1:])
    told = await keep_secrets(talk.project, told)
    try:
        path.write_text(told, encoding="utf-8")
    except OSError as error:
        raise KithError(f"{path} cannot be written: {error.strerror}.") from error
    talk.say(f"Wrote {printable(from_home(str(path)))}.", "green")


def _target(talk: Talk, rest: str) -> Path:
    """The file to write, from the folder of the conversation. Raises UsageError for another ending."""
    path = talk.root / Path(rest).expanduser() if rest else talk.root / f"kith-{short_session(talk.id)}.md"
    if rest in ("md", "html", "json"):
        path = talk.root / f"kith-{short_session(talk.id)}.{rest}"
    if path.suffix not in _FORMATS:
        raise UsageError(f"A conversation is written to a file that ends in {', '.join(_FORMATS)}.")
    return path
