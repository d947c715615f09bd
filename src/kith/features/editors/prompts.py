"""Read prompts from an editor, and tell it the modes, models and commands to choose from."""

import re
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from acp.helpers import update_available_commands
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    TextContentBlock,
    TextResourceContents,
    UnstructuredCommandInput,
)
from msgspec import Struct

from kith.core.errors import UsageError
from kith.core.pictures import MOST_BYTES, read_picture
from kith.core.values import Image
from kith.terminal.run import TASK_LIMIT
from kith.view.markup import fenced
from kith.view.printing import printable

_ONLY_PICTURES: Final = "Look at the pictures."
_LINES: Final = re.compile(r"L?(\d+)(?:[:-]L?(\d+))?")


class Given(Struct, frozen=True):
    """A prompt: its words, the project's files that it links to, and its pictures."""

    words: str
    linked: tuple[Path, ...] = ()
    images: tuple[Image, ...] = ()


def read_prompt(blocks: Sequence[Any], root: Path) -> Given:
    """Read a prompt.

    A link becomes the file's name in its place; what was embedded follows after all words. Raises UsageError
    for what is neither text nor a picture.
    """
    words: list[str] = []
    embedded: list[str] = []
    linked: list[Path] = []
    images: list[Image] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri, name=name):
                words.append(_named(uri, root) or f"{name} ({uri})")
                linked += filter(None, [_inside(uri, root)])
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                name = _named(uri, root) or printable(uri)
                words.append(name)
                embedded.append(f"{name}, as it is in the editor:\n{fenced(text)}")
            case ImageContentBlock(data=data, uri=uri):
                images.append(_picture(data, uri or f"picture {len(images) + 1}"))
            case _:
                raise UsageError("kith takes text, files of text and pictures; leave the rest out.")
    said = "\n\n".join(filter(None, ["".join(words).strip(), *embedded]))
    if len(said.encode("utf-8", "replace")) > TASK_LIMIT:
        raise UsageError(f"The prompt is over the limit of {TASK_LIMIT:,} bytes; link to files instead.")
    return Given(said or _ONLY_PICTURES * bool(images), tuple(linked), tuple(images))


def _picture(data: str, name: str) -> Image:
    """Raises UsageError for what no model takes."""
    try:
        content = b64decode(data, validate=True)
    except ValueError:
        content = b""
    found = read_picture(content, printable(name.rpartition("/")[2])) if len(content) <= MOST_BYTES else None
    if found is None:
        raise UsageError(f"kith takes PNG, JPEG, GIF and WebP pictures of at most {MOST_BYTES:,} bytes.")
    return found


def _path(uri: str) -> Path | None:
    """The file that an address names, None for one of another kind."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def _inside(uri: str, root: Path) -> Path | None:
    path = _path(uri)
    return path if path and path.is_relative_to(root) else None


def _named(uri: str, root: Path) -> str:
    """`src/app.py` or `src/app.py` lines 3-9, as kith's tools call it; "" for what is no file."""
    path = _path(uri)
    if path is None:
        return ""
    if not path.is_relative_to(root):
        return f"`{printable(str(path))}` (outside of this project)"
    name = f"`{printable(path.relative_to(root).as_posix())}`"
    lines = _LINES.fullmatch(urlsplit(uri).fragment)
    if lines is None:
        return name
    first, last = lines[1], lines[2] or lines[1]
    return f"{name} line {first}" if first == last else f"{name} lines {first}-{last}"


# What a person can choose in an editor: how much kith asks, which model it asks, and commands.

Options = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]  # as acp types them

DEFAULT_MODEL: Final = "default"  # what the settings say


class Way(Struct, frozen=True):
    """The mode of a task: `plans` first and asks about the plan, or reads only."""

    id: str
    name: str
    description: str
    plans: bool = False
    read_only: bool = False


AUTO = Way("auto", "Auto", "Work in a trial without questions; ask once before anything is applied")
ASK = Way("ask", "Ask", "Plan first and ask about the plan, then work and ask about the change", plans=True)
PLAN = Way("plan", "Plan", "Only read and answer; nothing is changed", read_only=True)
WAYS: Final = {way.id: way for way in (AUTO, ASK, PLAN)}

# Name, what it does, and the words that follow it ("" for none).
COMMANDS: Final = {
    "plan": ("Plan first, and ask about the plan", "what to do"),
    "undo": ("Undo an applied change", "a change's id (the last one)"),
    "diff": ("Show the last change of this conversation", ""),
    "why": ("Show which models were asked here, and why", ""),
    "resume": ("Resume an interrupted task", ""),
}


def mode_state(way: Way) -> SessionModeState:
    """The modes, for editors that know no other choices."""
    modes = [SessionMode(id=each.id, name=each.name, description=each.description) for each in WAYS.values()]
    return SessionModeState(current_mode_id=way.id, available_modes=modes)


def config_options(way: Way, model: str, models: Sequence[str], default: str) -> Options:
    """The mode and the model; `default` is the model of the settings, "" where kith takes the first one."""
    ways = [
        SessionConfigSelectOption(value=each.id, name=each.name, description=each.description)
        for each in WAYS.values()
    ]
    names = list(dict.fromkeys([*models, *filter(None, [model])]))
    first = SessionConfigSelectOption(value=DEFAULT_MODEL, name=f"Default ({default or 'the first found'})")
    known = [first, *(SessionConfigSelectOption(value=name, name=name) for name in names)]
    return [
        _select("mode", "Mode", way.id, ways),
        _select("model", "Model", model or DEFAULT_MODEL, known),
    ]


def _select(
    id: str, name: str, value: str, options: list[SessionConfigSelectOption]
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        id=id,
        name=name,
        category="mode" if id == "mode" else "model",
        type="select",
        current_value=value,
        options=options,
    )


def commands_update() -> AvailableCommandsUpdate:
    """The commands that a prompt may begin with."""
    known = [
        AvailableCommand(name=name, description=meaning, input=_input(hint))
        for name, (meaning, hint) in COMMANDS.items()
    ]
    return update_available_commands(known)


def _input(hint: str) -> AvailableCommandInput | None:
    return AvailableCommandInput(UnstructuredCommandInput(hint=hint)) if hint else None


def split_command(words: str) -> tuple[str, str]:
    """The command that a prompt begins with and what follows it; ("", words) for a task."""
    name, _, rest = words.removeprefix("/").partition(" ")
    if words.startswith("/") and name.strip() in COMMANDS:
        return name.strip(), rest.strip()
    return "", words
