"""Common tasks with blanks to fill in: kith's, a trusted project's and the user's."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.agent.roles import read_front_matter
from kith.core.errors import UsageError
from kith.settings import find_folders, load_settings

_PARAMETER: Final = re.compile(r"(text|path|name|number|[\w-]+(?:\|[\w-]+)+)(\?)?(?: = (.*?))?(?:, (.*))?")
_BLANK: Final = re.compile(r"\{([a-z][a-z_]*)\}")
_TYPES: Final = {
    "text": "text, or @FILE for what a file holds",
    "path": "a file or folder of the project",
    "name": "one word",
    "number": "a whole number",
}


class Parameter(Struct, frozen=True):
    """A blank: its type (text, path, name, number, or choices `a|b`), and its default."""

    name: str
    type: str
    about: str = ""
    default: str | None = None

    @property
    def kind(self) -> str:
        """The type in words."""
        return _TYPES.get(self.type) or f"one of {self.type.replace('|', ', ')}"


class TaskTemplate(Struct, frozen=True):
    """A task with blanks; `command` is the one that it suits best: run or build."""

    name: str
    about: str
    command: str
    parameters: tuple[Parameter, ...]
    words: str


def read_template(name: str, text: str, where: str = "") -> TaskTemplate:
    """The template written in `text`: `about`, `command`, one line for each parameter, then the words.

    A parameter is `name: type` and an optional meaning after a comma. `?` after the type (or ` = VALUE`)
    makes it optional. Raises UsageError naming the file and the line.
    """
    where = where or f"{name}.md"
    written = read_front_matter(text, where, ("about", "command"))
    values = dict(written.values)
    about, command = values.pop("about"), values.pop("command")
    if command not in ("run", "build"):
        raise UsageError(f"{where}, line {written.lines['command']}: command is run or build.")
    parameters = tuple(
        _read_parameter(key, value, f"{where}, line {written.lines[key]}") for key, value in values.items()
    )
    unknown = set(_BLANK.findall(written.words)) - {each.name for each in parameters}
    if unknown:
        raise UsageError(f"{where}: the text uses {{{min(unknown)}}}, which is not a parameter.")
    return TaskTemplate(name, about, command, parameters, written.words)


def _read_parameter(name: str, text: str, where: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if not found:
        raise UsageError(
            f"{where}: {text!r} should be a type ({', '.join(_TYPES)} or a|b), then its meaning."
        )
    kind, optional, default, about = found.groups()
    return Parameter(name, kind, about or "", default if default is not None else "" if optional else None)


def fill(
    template: TaskTemplate, given: Sequence[str], exists: Callable[[str], bool], read: Callable[[str], str]
) -> str:
    """The task that a template becomes with `name=value` words; lines with nothing but empty blanks go.

    `exists` says whether a path is in the project, `read` gives a file's text. Raises UsageError.
    """
    values = {each.name: each.default for each in template.parameters}
    kinds = {each.name: each for each in template.parameters}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or name not in kinds:
            raise UsageError(_unknown(template, word, name if equals else ""))
        values[name] = _check(kinds[name], value, exists, read)
    missing = [kinds[name] for name, value in values.items() if value is None]
    if missing:
        first = missing[0]
        about = f": {first.about}" if first.about else ""
        raise UsageError(f"Template {template.name} needs {first.name}=... ({first.kind}{about}).")
    return _filled(template.words, {name: value or "" for name, value in values.items()}).strip()


def _unknown(template: TaskTemplate, word: str, name: str) -> str:
    names = [each.name for each in template.parameters]
    if not name:
        return f"Template {template.name} takes {', '.join(f'{each}=...' for each in names)}, not {word!r}."
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names)}."
    return f"Template {template.name} has no parameter {name!r}; {hint}"


def _check(
    parameter: Parameter, value: str, exists: Callable[[str], bool], read: Callable[[str], str]
) -> str:
    fits = True
    match parameter.type:
        case "text":
            return read(value[1:]).strip() if value.startswith("@") else value
        case "path":
            fits = exists(value)
        case "name":
            fits = bool(re.fullmatch(r"[^\s=]+", value))
        case "number":
            fits = value.isdigit()
        case choices:
            fits = value in choices.split("|")
    if not fits:
        raise UsageError(f"{parameter.name} must be {parameter.kind}, not {value!r}.")
    return value


def _filled(words: str, values: Mapping[str, str]) -> str:
    lines = []
    for line in words.split("\n"):
        blanks = _BLANK.findall(line)
        if not blanks or any(values[name] for name in blanks):
            lines.append(_BLANK.sub(lambda blank: values[blank[1]], line))
    return "\n".join(lines)


# The templates of kith, of a trusted project and of the user, and the tasks they become.


def list_templates(root: Path | None = None) -> list[TaskTemplate]:
    """All templates by name: the person's own before those of a project that they trust, then kith's.

    Without a `root` there is no project. Raises UsageError.
    """
    shipped = {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in files("kith.templates").iterdir()
        if entry.name.endswith(".md")
    }
    found = {name: read_template(name, text) for name, text in shipped.items()}
    if root:
        brought = load_settings(root, {}).brought
        for each in brought.templates if brought.standing == "trusted" else ():
            found[Path(each).stem] = read_template(Path(each).stem, brought.text(each), each)
    for path in sorted((find_folders()[0] / "templates").glob("*.md")):
        found[path.stem] = read_template(path.stem, _read(path), str(path))
    return [found[name] for name in sorted(found)]


def fill_template(name: str, words: Sequence[str], root: Path) -> str:
    """The task that template `name` becomes with these `parameter=value` words. Raises UsageError."""
    templates = {each.name: each for each in list_templates(root)}
    if name not in templates:
        close = get_close_matches(name, templates, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(templates)}."
        raise UsageError(f"There is no template {name!r}; {hint}")

    def exists(path: str) -> bool:
        place = (root / path).resolve()
        return place.is_relative_to(root) and place.exists()

    return fill(templates[name], words, exists, lambda path: _read(Path(path)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"{path} cannot be read: {reason}.") from error
