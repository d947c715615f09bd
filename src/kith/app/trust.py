"""What a folder brings along for kith, in words, and a person's yes or no to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kith import __version__
from kith.app.asking.roles import find_role, has_own, role_names
from kith.core.errors import UsageError
from kith.core.events import Answered, Asked, RunEnded, RunStarted
from kith.core.run import new_id
from kith.core.values import Answer, Change, FileChange, Question
from kith.edits import summarise
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from kith.memory.trust import FORGET, NO, YES, last_trusted, question_about, said_of, texts_of
from kith.settings import Brought, Settings, load_settings, read_brought
from kith.settings.brought import CONFIG

QUESTION: Final = (
    "Trust this as it is? It can only narrow what you allow; one byte more, and you are asked again."
)
_COMMANDS: Final = "decides about changes; it runs in the sandbox, and without one you are asked first"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a folder brings: what that would do, in words for each file, and the files themselves as diffs.

    `again`: something else was trusted here before, and the diffs say what is different now.
    """

    brought: Brought
    meaning: Mapping[str, tuple[str, ...]]
    files: tuple[FileChange, ...]
    again: bool


def look_at(root: Path) -> Offer:
    """What there is in a folder. Raises UsageError for what kith could not read if it were trusted."""
    present = load_settings(root, {})
    brought = present.brought
    if not brought.files:
        return Offer(brought, {}, (), again=False)
    meaning = _meaning(load_settings(root, {}, trusting=True), root)
    log = present.state / LOG_FILE
    before = _trusted_before(Log(log), root) if log.is_file() else {}
    files = summarise(_changes(before, brought.files))
    return Offer(brought, meaning, files, again=bool(before))


def decide(root: Path, brought: Brought, *, yes: bool, by: str = "") -> None:
    """Keep a person's answer to what they were shown, and that it was shown."""
    told = "\n".join(sorted(brought.files))
    shown, id = summarise(_changes({}, brought.files)), question_about(brought.digest)
    what = "trust what .kith holds" if yes else "ignore what .kith holds"
    with Session(_log(root), new_id()) as session:
        session.emit(RunStarted(what, str(root), "", __version__))
        session.emit(Asked(Question(id, "trust", f"{QUESTION}\n{told}", (YES, NO), files=shown)))
        session.emit(Answered(id, Answer(YES if yes else NO, by=by)))
        end = "It counts as it is." if yes else "It is ignored as it is."
        session.emit(RunEnded("done", end))


def forget(root: Path) -> bool:
    """Take all back that was said of a folder; False where nothing was."""
    log = _log(root)
    if not said_of(log, root):
        return False
    with Session(log, new_id()) as session:
        session.emit(RunStarted("forget what was said of .kith/", str(root), "", __version__))
        session.emit(Answered(question_about(""), Answer(FORGET)))
        session.emit(RunEnded("done", "You are asked again."))
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


def _meaning(chosen: Settings, root: Path) -> dict[str, tuple[str, ...]]:
    """What each file would do. Raises UsageError."""
    meaning: dict[str, tuple[str, ...]] = {}
    for path in sorted(chosen.brought.files):
        if path == CONFIG:
            meaning[path] = tuple(_of_settings(chosen, root)) or ("sets nothing",)
        else:
            meaning[path] = (_of_role(Path(path).stem, chosen),)
    return meaning


def _of_settings(chosen: Settings, root: Path) -> list[str]:
    lines, config = [], str(root / CONFIG)
    for key, value in read_brought(root, chosen.brought).items():
        if key == "gates":
            lines += [f"gate {name}: `{command}` {_COMMANDS}" for name, command in value.items()]
        elif key == "check":
            lines.append(f"check: {', '.join(f'`{each}`' for each in value)} {_COMMANDS}")
        else:
            lines.append(f"{key} = {_show(value)}" + ("" if chosen.origin.get(key) == config else _VAIN))
    return lines


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
