"""Describe a folder's configuration of kith, and record a person's decision on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from kith import __version__
from kith.agent.asking.roles import find_role, has_own, role_names
from kith.agent.knowledge import last_ruling, list_nested, texts_shown
from kith.agent.project import tree_at
from kith.agent.templates import read_template
from kith.context.budget import estimate_tokens
from kith.context.notes import read_skill
from kith.core.errors import UsageError
from kith.core.events import Answered, Asked, RunEnded, RunStarted
from kith.core.run import new_id
from kith.core.values import Answer, Change, FileChange, FolderFiles, Question
from kith.edits import summarise
from kith.memory.log import LOG_FILE, Log
from kith.memory.permits import FORGET, NO, YES, last_trusted, said_of, texts_of
from kith.memory.session import Session
from kith.settings import Brought, Settings, load_settings, read_brought
from kith.settings.brought import CONFIGS, NOTES, ROLES, SKILL, TOOLS

QUESTION: Final = (
    "Trust this configuration? It can only narrow what you allow. kith asks again after any change."
)
_COMMANDS: Final = "decides about changes; it runs in the sandbox, and without one you are asked first"


class Offer(Struct, frozen=True):
    """A folder's configuration: the effect of each file in words, and the files as diffs.

    `nested` are notes in folders inside it. `unseen`: the person has not decided on some of them as they are.
    `again`: another version was trusted before, and the diffs show the difference.
    """

    brought: Brought
    meaning: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: tuple[FileChange, ...] = ()
    again: bool = False
    nested: Mapping[str, bytes] = field(default_factory=dict)
    unseen: bool = False


async def look_at(root: Path) -> Offer:
    """Look at a folder's configuration. Raises UsageError for one that kith could not read."""
    present = load_settings(root, {})
    brought = present.brought
    nested = {} if brought.standing == "unfit" else await list_nested(tree_at(root, present))
    if not brought.files and not nested:
        return Offer(brought)
    meaning = _meaning(load_settings(root, {}, trusting=True), root, nested)
    log = Log(present.state / LOG_FILE) if (present.state / LOG_FILE).is_file() else None
    before = _trusted_before(log, root) if log else {}
    shown = texts_shown(log, last_ruling(log, root, brought), brought) if log else {}
    unseen = any(shown.get(path) != data.decode() for path, data in nested.items())
    files = summarise(_changes(before, {**brought.files, **nested}))
    return Offer(brought, meaning, files, bool(before), nested, unseen)


def decide(
    root: Path, brought: Brought, *, yes: bool, by: str = "", nested: Mapping[str, bytes] | None = None
) -> None:
    """Keep a person's answer to what they were shown, and that it was shown."""
    files = {**brought.files, **(nested or {})}
    told = "\n".join(sorted(files))
    shown, id, subject = summarise(_changes({}, files)), new_id(), FolderFiles(brought.digest)
    names = Brought(files).names
    what = f"{'trust' if yes else 'ignore'} {names}"
    with Session(_log(root), new_id()) as session:
        session.emit(RunStarted(what, str(root), "", __version__))
        question = Question(id, "trust", f"{QUESTION}\n{told}", (YES, NO), files=shown, subject=subject)
        session.emit(Asked(question))
        session.emit(Answered(id, Answer(YES if yes else NO, by=by), subject))
        end = "Trusted in its present form." if yes else "Ignored in its present form."
        session.emit(RunEnded("done", end))


def forget(root: Path) -> bool:
    """Take all back that was said of a folder; False where nothing was."""
    log = _log(root)
    if not said_of(log, root):
        return False
    with Session(log, new_id()) as session:
        session.emit(RunStarted("forget the decisions about this folder", str(root), "", __version__))
        session.emit(Answered(new_id(), Answer(FORGET), FolderFiles("")))
        session.emit(RunEnded("done", "kith asks again."))
    return True


def _log(root: Path) -> Log:
    return Log(load_settings(root, {}).state / LOG_FILE)


def _trusted_before(log: Log, root: Path) -> dict[str, bytes]:
    said = last_trusted(said_of(log, root))
    return {path: text.encode() for path, text in texts_of(log, said).items()} if said else {}


def _changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[Change, ...]:
    paths = sorted({*before, *after})
    return tuple(
        Change(path, before.get(path), after.get(path))
        for path in paths
        if before.get(path) != after.get(path)
    )


# --- in words --------------------------------------------------------------------------------


def _meaning(chosen: Settings, root: Path, nested: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """Describe the effect of each file. Raises UsageError."""
    meaning: dict[str, tuple[str, ...]] = {}
    for path in sorted(chosen.brought.files):
        text = chosen.brought.text(path)
        if path in CONFIGS:
            meaning[path] = tuple(_of_settings(chosen, root)) or ("sets nothing",)
        elif path in NOTES:
            meaning[path] = (f"notes that every task begins with ({_size(text)})",)
        elif path.endswith(f"/{SKILL}"):
            meaning[path] = (_of_skill(text, path.removesuffix(f"/{SKILL}")),)
        elif path.startswith(f"{ROLES}/"):
            meaning[path] = (_of_role(Path(path).stem, chosen),)
        elif path.startswith(f"{TOOLS}/"):
            meaning[path] = ("a script that a model may call as a tool; it runs as its commands do",)
        else:
            meaning[path] = (_of_template(text, path),)
    for path, data in nested.items():
        where, size = path.rpartition("/")[0], _size(data.decode())
        meaning[path] = (f"notes for work in {where}/ ({size})",)
    return meaning


def _size(text: str) -> str:
    return f"{len(text.split()):,} words, about {estimate_tokens(text):,} tokens"


def _of_skill(text: str, folder: str) -> str:
    try:
        skill = read_skill(text, folder)
    except UsageError as error:
        return f"no skill, so it is left out: {error}"
    return f"skill {skill.name}, which a model may read ({_size(skill.words)}): {skill.about}"


def _of_template(text: str, path: str) -> str:
    name = Path(path).stem
    return f"template {name}: {read_template(name, text, path).about}"


def _of_settings(chosen: Settings, root: Path) -> list[str]:
    lines, config = [], str(root / chosen.brought.config)
    for key, value in read_brought(root, chosen.brought).items():
        if key == "gates":
            lines += [f"gate {name}: `{command}` {_COMMANDS}" for name, command in value.items()]
        elif key == "check":
            lines.append(f"check: {', '.join(f'`{each}`' for each in value)} {_COMMANDS}")
        elif key == "hooks":
            lines += [f"hook {each.on}: `{each.command}` {_TOLD[each.on]}; {_HELD}" for each in value]
        else:
            lines.append(f"{key} = {_show(value)}" + ("" if chosen.origin.get(key) == config else _VAIN))
    return lines


_TOLD: Final = {
    "start": "is told of each task; it may refuse it, and say something to the model",
    "before_tool": "is told of calls of tools; it may refuse or change them, within what you allow",
    "after_tool": "is told of results of tools; it may say something to the model",
    "stop": "is told when the model stops; it may let it go on",
}
_HELD: Final = "it runs in the sandbox, and not at all without one"
_VAIN: Final = ": no effect, since it is more than you allow"


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _of_role(name: str, chosen: Settings) -> str:
    if name not in role_names():
        raise UsageError(f"kith has no role {name!r}; there are: {', '.join(role_names())}.")
    if has_own(name, chosen):
        return f"role {name}: no effect, since you have a role of your own of this name"
    spec = find_role(name, chosen)
    tools = ", ".join(spec.tools) or "no tools"
    return f"role {name}: other words for it ({len(spec.words.split()):,}), policy {spec.policy}, {tools}"
