"""Notes for agents that kith proposes for a project: made from a scan, shown, and trusted once written."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from kith.agent.edits import write_edits
from kith.agent.nested_notes import last_ruling, texts_shown
from kith.agent.project import Project
from kith.agent.trust import decide
from kith.context.git import list_paths
from kith.context.languages import NO_CODE
from kith.core.errors import TreeError, UsageError
from kith.core.events import Applied, Event
from kith.core.run import Run
from kith.core.values import Answer, Change, Changes, Question
from kith.core.workspace import ExecLimits
from kith.features.scan.conventions import find_commit_style, find_conventions
from kith.features.scan.guide import Found, write_guide
from kith.features.scan.scans import Patience, Scanned, run_scan
from kith.settings import load_settings
from kith.settings.brought import NOTES, find_notes

_SAMPLES: Final = 300  # sources that are looked into
_LARGEST: Final = 200_000  # bytes of one
_COMMITS: Final = 200
_LIMITS: Final = ExecLimits(seconds=5.0, output=1_000_000)


async def propose_guide(project: Project, hear: Callable[[Event], None]) -> Changes:
    """The notes that a scan gives, as a change; () where those that are there say all of it.

    Notes that count already are added to, whatever their name. Raises TreeError, UsageError where there is
    nothing to speak of.
    """
    path = find_notes(project.root) or NOTES[0]
    before = await _read_bytes(project, path)
    scanned = await run_scan(project, "", Patience(lint=False), hear)
    if not scanned.survey.facts:
        raise UsageError("There is nothing here yet that notes could speak of.")
    found = await _look(project, scanned)
    text = write_guide(found, (before or b"").decode("utf-8-sig", "replace"))
    after = text.encode()
    if after == before:
        return ()
    modes = await project.tree.modes([path])
    change = Change(path, before, after)
    return (replace(change, mode=modes[path], mode_before=modes[path]) if path in modes else change,)


async def _look(project: Project, scanned: Scanned) -> Found:
    facts = scanned.survey.facts
    sources = [path for path, each in facts.items() if each.functions and each.language not in NO_CODE]
    texts = await _read_texts(project, _spread(sources))
    beside = await _read_texts(project, [path for path in facts if _is_told(path)])
    conventions = (*find_conventions(texts), *find_commit_style(await _messages(project)))
    return Found(scanned.report, facts, conventions, lambda path: beside.get(path, ""))


def _spread(paths: Sequence[str]) -> Sequence[str]:
    """Some of them, from all over the tree."""
    return paths[:: len(paths) // _SAMPLES + 1]


def _is_told(path: str) -> bool:
    """Whether a file says something of its folder, or of how the project is worked on."""
    name = path.rpartition("/")[2]
    return name in ("__init__.py", "README.md", "README.rst", "README") or "/" not in path


async def _read_texts(project: Project, paths: Iterable[str]) -> dict[str, str]:
    contents = await project.tree.read_many(paths)
    return {
        path: data.decode("utf-8", "replace")
        for path, data in contents.items()
        if len(data) <= _LARGEST and b"\0" not in data
    }


async def _read_bytes(project: Project, path: str) -> bytes | None:
    with suppress(TreeError):
        return await project.tree.read(path)
    return None


async def _messages(project: Project) -> Sequence[str]:
    """The last messages of commits, those of merges aside."""
    run = Run(lambda event, path: None, _nobody, project.tree)
    words = ["log", f"-n{_COMMITS}", "--no-merges", "--format=%B", "-z"]
    return await list_paths(run, words, _LIMITS) or ()


async def _nobody(question: Question) -> Answer:
    return Answer("no")


async def keep_guide(project: Project, changes: Changes) -> tuple[Applied, bool]:
    """Write the notes that the person said yes to; whether they count from now on.

    They do where nothing else waits for a word of the person: what they saw just now they need not be asked
    about again. Raises KithError.
    """
    brought = project.settings.brought
    ruling = last_ruling(project.log, project.root, brought)
    seen = texts_shown(project.log, ruling, brought) if brought.standing == "trusted" else {}
    applied = await write_edits(project, changes, "write notes for agents")
    now = load_settings(project.root, {}).brought
    known = set(now.files) - {change.path for change in changes}
    if brought.standing == "trusted" or not known:
        nested = {path: text.encode() for path, text in seen.items()}
        decide(project.root, now, yes=True, by="kith init", nested=nested)
        return applied, True
    return applied, False
