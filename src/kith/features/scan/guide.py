"""Write notes for agents from a scan: a project's commands, and what its authors keep to."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.knowledge import last_ruling, texts_shown
from kith.agent.outside_edits import write_edits
from kith.agent.project import Project
from kith.agent.trust import decide
from kith.context.source import NO_CODE
from kith.core.errors import TreeError, UsageError
from kith.core.events import Applied, Event
from kith.core.git import list_paths
from kith.core.run import quiet_run
from kith.core.toml_text import inner_table, read_toml
from kith.core.values import Change, Changes
from kith.core.workspace import ExecLimits
from kith.features.scan.checks import Patience
from kith.features.scan.conventions import find_commit_style, find_conventions, written_in
from kith.features.scan.document import listed
from kith.features.scan.facts import FileFacts
from kith.features.scan.report import Report
from kith.features.scan.scan import Scanned, run_scan
from kith.settings import load_settings
from kith.settings.brought import NOTES, find_notes
from kith.view.document import visible

_SHARE: Final = 0.1  # of the code, from which on a language is worth naming
_SCRIPTS, _ENTRIES = 8, 4
# How what is configured is started: a file, or a table in pyproject.toml, and the command.
_FILES: Final = {
    ".pre-commit-config.yaml": ("All hooks", "pre-commit run --all-files"),
    "tox.ini": ("All environments", "tox"),
    "noxfile.py": ("All sessions", "nox"),
    "rustfmt.toml": ("Format", "cargo fmt"),
    "mypy.ini": ("Types", "mypy"),
    "ruff.toml": ("Lint", "ruff check"),
    "pyrightconfig.json": ("Types", "pyright"),
}
_TABLES: Final = {
    "ruff": ("Lint", "ruff check"),
    "black": ("Format", "black ."),
    "isort": ("Imports", "isort ."),
    "mypy": ("Types", "mypy"),
    "pyright": ("Types", "pyright"),
    "flake8": ("Lint", "flake8"),
}
# As people type it: kith itself builds in a folder of its own.
_CMAKE: Final = ("cmake -S . -B build && cmake --build build", "ctest --test-dir build --output-on-failure")
# What of the notes a heading of notes that are there already is about.
_ABOUTS: Final = {
    "Commands": r"command|build|test|develop|setup|getting started",
    "Conventions": r"convention|style|guideline|rules|practice",
}
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)


class GuideFacts(Struct, frozen=True):
    """A project's scan, the facts of its files, its conventions, and texts by path."""

    report: Report
    facts: Mapping[str, FileFacts]
    conventions: Sequence[str]
    read: Callable[[str], str]


def write_guide(found: GuideFacts, present: str = "") -> str:
    """The notes as Markdown; to notes that are `present` only what they do not speak of is added.

    They have no tour of the folders: generated ones made agents slower and no better (arXiv:2602.11988).
    """
    sections = {
        "Commands": [*_commands(found)],
        "Conventions": [*found.conventions],
    }
    spoken = [heading.lower() for heading in _HEADING.findall(present)]
    told = []
    for name, lines in sections.items():
        if lines and not any(re.search(_ABOUTS[name], heading) for heading in spoken):
            told.append("\n".join([f"## {name}", "", *(f"- {visible(line)}" for line in lines)]))
    if present.strip():
        return "\n\n".join([present.rstrip(), *told]) + "\n" if told else present
    return "\n\n".join([f"# {visible(found.report.name)}", *_beginning(found.report), *told]) + "\n"


def _beginning(report: Report) -> Iterator[str]:
    sizes: Counter[str] = Counter()
    names = [each.name for each in report.languages]
    for each in report.languages:
        if each.name not in NO_CODE:
            sizes[written_in(each.name, names)] += each.code
    if large := [name for name, code in sizes.most_common() if code >= _SHARE * sizes.total()]:
        yield f"Written in {listed(large)}."


# --- commands ------------------------------------------------------------------------------------


def _commands(found: GuideFacts) -> Iterator[str]:
    for each in found.report.toolchains:
        several = len(found.report.toolchains) > 1
        of = f" ({each.name})" if several else ""
        build, test = " && ".join(filter(None, (each.configure, each.build))), each.test
        if each.configure.startswith("cmake "):
            build, test = _CMAKE
        if build:
            yield f"Build{of}: `{build}`"
        yield f"Test{of}: `{test}`"
        if each.name == "pytest":
            yield f"One test: `{each.test} PATH::NAME`"
    seen = set[str]()
    for what, command in (*_configured(found), *_scripts(found)):
        if command not in seen:
            seen.add(command)
            yield f"{what}: `{command}`"
    targets = [each.name for each in found.report.entries if each.kind == "target"]
    if targets:
        yield f"Targets of make: {', '.join(f'`{name}`' for name in targets[:_SCRIPTS])}"
    for entry in [entry for entry in found.report.entries if entry.kind == "command"][:_ENTRIES]:
        yield f"The command `{entry.name}` starts `{entry.target or entry.path}`"


def _configured(found: GuideFacts) -> Iterator[tuple[str, str]]:
    tools = inner_table(read_toml(found.read("pyproject.toml")), "tool")
    for name, command in _TABLES.items():
        if name in tools:
            yield command
    if "format" in inner_table(tools, "ruff"):
        yield "Format", "ruff format"
    for path, command in _FILES.items():
        if path in found.facts and (path != "tox.ini" or "[tox" in found.read(path)):
            yield command
    if ".clang-format" in found.facts:
        yield "Format", "clang-format -i FILE"
    if "go.mod" in found.facts:
        yield "Format", "gofmt -w ."


def _scripts(found: GuideFacts) -> Iterator[tuple[str, str]]:
    """The scripts of package.json beside the tests."""
    try:
        data = json.loads(found.read("package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = data.get("scripts") if isinstance(data, dict) else None
    names = [name for name in scripts if re.fullmatch(r"[\w:.-]+", name)] if isinstance(scripts, dict) else []
    manager = next((each.name.split()[0] for each in found.report.toolchains if "test" in each.name), "npm")
    runner = manager if manager in ("npm", "pnpm", "yarn", "bun") else "npm"
    others = [each for each in names if each != "test" and not each.startswith(("pre", "post"))]
    for name in others[:_SCRIPTS]:
        yield name.capitalize(), f"{runner} run {name}"


# --- the proposal ----------------------------------------------------------------------------


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
        raise UsageError("This project is empty, so there is nothing to write notes about.")
    found = await _look(project, scanned)
    text = write_guide(found, (before or b"").decode("utf-8-sig", "replace"))
    after = text.encode()
    if after == before:
        return ()
    modes = await project.tree.modes([path])
    change = Change(path, before, after)
    return (replace(change, mode=modes[path], mode_before=modes[path]) if path in modes else change,)


async def _look(project: Project, scanned: Scanned) -> GuideFacts:
    facts = scanned.survey.facts
    sources = [path for path, each in facts.items() if each.functions and each.language not in NO_CODE]
    texts = await _read_texts(project, sources[:: len(sources) // _SAMPLES + 1])  # from all over the tree
    beside = await _read_texts(project, [path for path in facts if "/" not in path])
    conventions = (*find_conventions(texts), *find_commit_style(await _messages(project)))
    return GuideFacts(scanned.report, facts, conventions, lambda path: beside.get(path, ""))


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
    run = quiet_run(project.tree)
    words = ["log", f"-n{_COMMITS}", "--no-merges", "--format=%B", "-z"]
    return await list_paths(run, words, _LIMITS) or ()


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
