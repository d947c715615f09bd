"""Compare kith's Python refactorings with rope's, side by side.

    uv run --with rope --with pytest-timeout python benchmarks/refactorings.py ...
        cases
        project DIR [TESTS ...] [--each N] [--only KIND] [--log FILE]
        apply kith|rope DIR ACTION ...

`cases` runs rope on every input of tests/features/refactor and compares it with what kith makes of it there.
`project` makes N refactorings of each kind, drawn at random, in a project whose tests pass, and runs its
tests on each result. `apply` changes the files of DIR in place, as `kith refactor ACTION ...` would.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyflakes import checker, messages
from rope.base.project import Project
from rope.refactor.extract import ExtractMethod
from rope.refactor.importutils import ImportOrganizer
from rope.refactor.inline import create_inline
from rope.refactor.move import create_move
from rope.refactor.rename import Rename

from kith.core.errors import UsageError
from kith.features.refactor.by_syntax import PYTHON
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.extract import extract
from kith.features.refactor.syntax.inline import inline
from kith.features.refactor.syntax.move import move
from kith.features.refactor.syntax.organise import organise_imports
from kith.features.refactor.syntax.rename import rename
from kith.features.refactor.syntax.scopes import NameScope, find_target

TESTS = Path(__file__).parent.parent / "tests"
SECONDS = 60  # that one refactoring may take
NEW = "entirely_new_name"
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Action:
    """A refactoring: its kind and its arguments, as kith's function takes them."""

    kind: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.kind} {' '.join(map(str, self.args))}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The files that an engine changed (None: deleted), or why it refused; `crashed`: by a traceback."""

    files: Mapping[str, bytes | None] = field(default_factory=dict)
    refused: str = ""
    crashed: bool = False
    seconds: float = 0.0


KITH: Mapping[str, Callable[..., Any]] = {
    "rename": rename,
    "move": move,
    "extract": extract,
    "inline": inline,
    "organise": organise_imports,
}


def by_kith(files: Files, action: Action) -> Outcome:
    return timed(lambda: KITH[action.kind](Codebase.of(files), *action.args).files)


def timed(do: Callable[[], Mapping[str, bytes | None]]) -> Outcome:
    """Run an engine with a time limit; a refusal of kith is a UsageError, one of rope a RopeError."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"longer than {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    began = time.perf_counter()
    try:
        return Outcome(do(), seconds=time.perf_counter() - began)
    except Exception as error:
        refuses = isinstance(error, UsageError) or type(error).__module__.startswith("rope.base.exceptions")
        why = f"{type(error).__name__}: {error}"
        return Outcome({}, why[:160], not refuses, time.perf_counter() - began)
    finally:
        signal.alarm(0)


# --- rope ------------------------------------------------------------------------------------


def by_rope(files: Files, action: Action) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files)
        return timed(lambda: Rope(Path(folder), files).do(action))


def write(folder: Path, files: Mapping[str, bytes | None]) -> None:
    for path, content in files.items():
        if content is None:
            (folder / path).unlink()
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


class Rope:
    """A project of rope over files in a folder."""

    def __init__(self, folder: Path, files: Files) -> None:
        self.folder, self.files = folder, files
        source_folders = ["src"] if (folder / "src").is_dir() else []
        self.project = Project(str(folder), ropefolder=None, source_folders=source_folders)

    def do(self, action: Action) -> Mapping[str, bytes | None]:
        before = {path: (self.folder / path).read_bytes() for path in self.files}
        try:
            getattr(self, action.kind)(*action.args)
        finally:
            self.project.close()
        found = (each for each in self.folder.rglob("*") if each.suffix in PYTHON)
        paths = {str(each.relative_to(self.folder)) for each in found}
        now = {path: (self.folder / path).read_bytes() for path in paths}
        gone = dict.fromkeys(before.keys() - now.keys())
        return {path: text for path, text in now.items() if text != before.get(path)} | gone

    def _offset(self, path: str, dotted: str) -> int:
        """Where rope is told to look: at the first place that gives the name its value."""
        names = Codebase.of(self.files).names(path)
        target = find_target(names, dotted)
        source = names.source
        bound = [each.start for each in names.of(target.scope, target.name) if each.how == "bind"]
        if not bound:
            bound = [
                source.span(node)[1] - len(target.name)
                for node in ast.walk(target.scope.node)
                if isinstance(node, ast.Attribute) and node.attr == target.name
            ]
        start = min(bound)
        return start - source.text[:start].count("\r\n") - source.text.startswith("\ufeff")

    def rename(self, path: str, dotted: str, new: str) -> None:
        resource = self.project.get_resource(path)
        change = Rename(self.project, resource, self._offset(path, dotted)).get_changes(
            new, in_hierarchy=True
        )
        self.project.do(change)

    def move(self, path: str, wanted: Sequence[str], target: str) -> None:
        whole = not wanted
        if not (self.folder / target).exists():
            (self.folder / target).write_text("")
            self.project.validate()
        for name in wanted or top_names(self.files[path]):
            files = {**self.files, path: (self.folder / path).read_bytes()}
            self.files = files
            resource = self.project.get_resource(path)
            mover = create_move(self.project, resource, self._offset(path, name))
            self.project.do(mover.get_changes(self.project.get_resource(target)))
        if whole:
            (self.folder / path).unlink()

    def extract(self, path: str, first: int, last: int, name: str) -> None:
        resource = self.project.get_resource(path)
        rows = resource.read().split("\n")
        start = sum(len(row) + 1 for row in rows[: first - 1])
        start += len(rows[first - 1]) - len(rows[first - 1].lstrip())
        end = sum(len(row) + 1 for row in rows[:last]) - 1
        self.project.do(ExtractMethod(self.project, resource, start, end).get_changes(name))

    def inline(self, path: str, dotted: str) -> None:
        resource = self.project.get_resource(path)
        self.project.do(create_inline(self.project, resource, self._offset(path, dotted)).get_changes())

    def organise(self, paths: Sequence[str]) -> None:
        for path in paths:
            change = ImportOrganizer(self.project).organize_imports(self.project.get_resource(path))
            if change:
                self.project.do(change)


def top_names(content: bytes) -> list[str]:
    """The functions, classes and variables that a module defines at its top."""
    found = []
    for node in ast.parse(content).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.append(node.name)
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            found.append(node.targets[0].id)
    return found


# --- kith's own cases ------------------------------------------------------------------------


class Recorder:
    """Stands in the place of kith's functions in the tests, and notes what they were asked for."""

    def __init__(self) -> None:
        self.seen: list[tuple[Files, Action, Outcome]] = []
        self.kept = set[str]()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for module in {item.module for item in items}:  # type: ignore[attr-defined]
            for kind, function in KITH.items():
                if getattr(module, function.__name__, None) is function:
                    setattr(module, function.__name__, self._noting(kind, function))

    def _noting(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noting(code: Codebase, *args: Any) -> Any:
            action, made = Action(kind, args), Outcome()
            try:
                done = function(code, *args)
                made = Outcome(done.files)
                return done
            except UsageError as error:
                made = Outcome(refused=str(error))
                raise
            finally:
                key = f"{action} {sorted(code.files.items())}"
                if key not in self.kept and len(code.files) < 20:
                    self.kept.add(key)
                    self.seen.append((code.files, action, made))

        return noting


def run_cases() -> None:
    recorder = Recorder()
    files = [str(path) for path in sorted((TESTS / "features" / "refactor").glob("test_refactor_*.py"))]
    code = pytest.main([*files, "-q", "-p", "no:xdist", "-o", "addopts=", "-m", "not slow"], [recorder])
    assert code == 0, "kith's own tests must pass"
    table = Counter[tuple[str, str]]()
    for before, action, kith in recorder.seen:
        rope = by_rope(before, action)
        verdict = judge_case(before, kith, rope)
        table[action.kind, verdict] += 1
        if verdict not in ("same", "both refuse"):
            print(f"\n## {verdict}: {action}\nkith: {kith.refused or 'applied'}\nrope: {rope.refused}")
            print(json.dumps({path: text.decode(errors="replace") for path, text in before.items()}))
            for made in () if rope.refused else (kith, rope):
                print(
                    json.dumps(
                        {path: text.decode("latin-1") if text else "" for path, text in made.files.items()}
                    )
                )
    print_table(table)


def judge_case(before: Files, kith: Outcome, rope: Outcome) -> str:
    """How rope does on a case of kith's tests, which say what is right."""
    if kith.refused:
        return "both refuse" if rope.refused else "rope does what kith refuses"
    if rope.refused:
        return "rope crashes" if rope.crashed else "rope refuses what kith does"
    try:
        return "same" if trees(before, kith) == trees(before, rope) else "another result"
    except (SyntaxError, ValueError):
        return "rope's result does not parse"


def trees(before: Files, made: Outcome) -> dict[str, str]:
    """What each file says, whatever its layout."""
    now = {**before, **made.files}
    return {
        path: ast.dump(ast.parse(text)) for path, text in now.items() if text is not None and text.strip()
    }


def print_table(table: Mapping[tuple[str, str], int]) -> None:
    print()
    for (kind, verdict), times in sorted(table.items()):
        print(f"{kind:10} {verdict:42} {times:4}")


# --- real projects ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tested:
    """A project, its Python files, and the command that runs those of its tests which pass."""

    root: Path
    files: Files
    command: tuple[str, ...]
    undefined: int

    def judge(self, made: Outcome) -> str:
        """`right` when all files parse, no name is undefined that was not, and the tests pass."""
        if made.refused:
            return "crashes" if made.crashed else "refuses"
        if not made.files:
            return "does nothing"
        now = {**self.files, **made.files}
        try:
            if undefined_names(now) > self.undefined:
                return "WRONG: undefined name"
        except SyntaxError:
            return "WRONG: does not parse"
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "project"
            shutil.copytree(self.root, copy, symlinks=True)
            write(copy, made.files)
            return "right" if run_tests(copy, self.command)[0] == 0 else "WRONG: a test fails"


def undefined_names(files: Mapping[str, bytes | None]) -> int:
    found = 0
    for path, content in files.items():
        if content is not None:
            tree = ast.parse(content)
            found += sum(
                isinstance(each, messages.UndefinedName) for each in checker.Checker(tree, path).messages
            )
    return found


def run_tests(folder: Path, command: Sequence[str]) -> tuple[int, str]:
    paths = f"{folder / 'src'}{os.pathsep}{folder}"
    with tempfile.TemporaryDirectory() as scratch:  # tests may leave files there that the next run would meet
        environ = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": scratch}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *command],
            cwd=folder, env=environ, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    return done.returncode, done.stdout


def open_project(root: Path, tests: Sequence[str]) -> Tested:
    paths = [path for path in root.rglob("*") if path.suffix in PYTHON and path.is_file()]
    files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(paths)}
    files = {path: content for path, content in files.items() if parses(content)}
    command = ["-o", "addopts=", "-o", "filterwarnings=", "--timeout=60", "--tb=no", *tests]
    code, told = run_tests(root, [*command, "-rfE"])
    failing = re.findall(r"^(?:FAILED|ERROR) (\S+)", told, re.M)
    command += [f"--deselect={each}" for each in failing]
    code, told = run_tests(root, command)
    assert code == 0, told[-2000:]
    print(f"{root}: {len(files)} files, {told.strip().splitlines()[-1]}")
    return Tested(root, files, ("-x", *command), undefined_names(files))


def parses(content: bytes) -> bool:
    try:
        return bool(ast.parse(content))
    except (SyntaxError, ValueError):
        return False


def draw(project: Tested, chance: random.Random, each: int) -> Iterator[Action]:
    """Refactorings of every kind, of what is not a test."""
    code = Codebase.of(project.files)
    own = [
        path for path in project.files if not re.search(r"(^|/)(tests?|docs|examples|setup)\b|conftest", path)
    ]
    scopes = [(path, scope) for path in own for scope in code.names(path).scopes.values()]
    for kind in ("module", "class", "function"):
        names = [
            (path, f"{scope.name}.{name}".lstrip("."))
            for path, scope in scopes
            for name in sorted(scope.bound)
            if scope.kind == kind and "<" not in scope.name and is_own(code, path, scope, name)
        ]
        for path, name in chance.sample(names, min(each, len(names))):
            yield Action("rename", (path, name, NEW))
    tops = [
        (path, name) for path in own for name in top_names(project.files[path]) if not name.startswith("__")
    ]
    for path, name in chance.sample(tops, min(each, len(tops))):
        beside = [other for other in own if other != path and not other.endswith("__init__.py")]
        yield Action(
            "move", (path, (name,), chance.choice([*beside, f"{path.rpartition('/')[0]}/new_home.py"]))
        )
    for number in range(each):
        yield Action("extract", (*draw_lines(project.files, own, chance), f"part_{number}"))
    variables = [
        (path, f"{scope.name}.{mention.name}".lstrip("."))
        for path, scope in scopes
        for mention in code.names(path).mentions
        if mention.scope is scope and mention.how == "bind" and is_inlinable(code, path, scope, mention.node)
    ]
    for path, name in chance.sample(sorted(set(variables)), min(2 * each, len(set(variables)))):
        yield Action("inline", (path, name))
    for path in chance.sample(own, min(each, len(own))):
        yield Action("organise", ([path],))


def is_own(code: Codebase, path: str, scope: NameScope, name: str) -> bool:
    bound = [each.node for each in code.names(path).of(scope, name) if each.how == "bind"]
    special = name.startswith("__") or scope.elsewhere.get(name) or name in ("self", "cls", "_")
    return bool(bound) and not special and not any(isinstance(each, ast.alias) for each in bound)


def is_inlinable(code: Codebase, path: str, scope: NameScope, node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return scope.kind == "module" and len(node.body) <= 2
    return isinstance(node, ast.Name) and scope.kind == "function" and "<" not in scope.name


def draw_lines(files: Files, own: Sequence[str], chance: random.Random) -> tuple[str, int, int]:
    """Some whole statements in a row, of some function."""
    while True:
        path = chance.choice(own)
        functions = [node for node in ast.walk(ast.parse(files[path])) if isinstance(node, ast.FunctionDef)]
        if not functions:
            continue
        blocks = [
            block
            for node in ast.walk(chance.choice(functions))
            for part in ("body", "orelse")
            if isinstance(block := getattr(node, part, None), list) and block
        ]
        block = chance.choice(blocks)
        if not isinstance(block[0], ast.stmt):
            continue
        start = chance.randrange(len(block))
        first, last = block[start], block[min(start + chance.randrange(4), len(block) - 1)]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            return path, first.lineno, last.end_lineno or first.lineno


def run_project(root: Path, tests: Sequence[str], each: int, only: Sequence[str], log: str) -> None:
    project, table = open_project(root, tests), Counter[tuple[str, str]]()
    seconds: dict[str, list[float]] = {"kith": [], "rope": []}
    chosen = [action for action in draw(project, random.Random(20), each) if action.kind in (only or KITH)]
    for action in chosen:
        kith, rope = by_kith(project.files, action), by_rope(project.files, action)
        first = project.judge(kith)
        same = not kith.refused and not rope.refused and is_same(project.files, kith, rope)
        second = first if same else project.judge(rope)
        table[action.kind, f"kith {first}, rope {second}{' (same)' if same else ''}"] += 1
        seconds["kith"].append(kith.seconds)
        seconds["rope"].append(rope.seconds)
        print(
            f"{action}: kith {first} {kith.refused} | rope {second} {rope.refused} {'=' if same else ''}",
            flush=True,
        )
        if log:
            with Path(log).open("a") as file:
                row = {
                    "root": str(root),
                    "action": asdict(action),
                    "kith": first,
                    "rope": second,
                    "same": same,
                }
                row |= {"kith_why": kith.refused, "rope_why": rope.refused}
                row |= {"seconds": [kith.seconds, rope.seconds]}
                file.write(json.dumps(row) + "\n")
    print_table(table)
    for name, all_seconds in seconds.items():
        middle = sorted(all_seconds)[len(all_seconds) // 2]
        print(f"{name}: median {middle:.2f} s, most {max(all_seconds):.1f} s")


def is_same(before: Files, one: Outcome, other: Outcome) -> bool:
    try:
        return trees(before, one) == trees(before, other)
    except SyntaxError:
        return False


# --- one refactoring -------------------------------------------------------------------------


def apply(engine: str, root: Path, words: Sequence[str]) -> None:
    kind, place, *rest = words
    path, _, name = place.partition(":")
    args: Mapping[str, Callable[[], tuple[Any, ...]]] = {
        "rename": lambda: (path, name, rest[0]),
        "move": lambda: (path, name.split(",") if name else (), rest[0]),
        "extract": lambda: (path, *map(int, name.split("-")), rest[0]),
        "inline": lambda: (path, name),
        "organise": lambda: ([path],),
    }
    paths = [each for each in root.rglob("*") if each.suffix in PYTHON and each.is_file()]
    files = {str(each.relative_to(root)): each.read_bytes() for each in paths}
    files = {each: content for each, content in files.items() if parses(content)}
    made = (by_kith if engine == "kith" else by_rope)(files, Action(kind, args[kind]()))
    write(root, made.files)
    print(made.refused or f"changed {', '.join(made.files)}", f"({made.seconds:.1f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="+")
    parser.add_argument("--each", type=int, default=10, help="refactorings of each kind")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", choices=list(KITH))
    parser.add_argument("--log", default="", help="append one JSON line for each refactoring to this file")
    given = parser.parse_args()
    match given.words:
        case ["cases"]:
            run_cases()
        case ["project", root, *tests]:
            run_project(Path(root).resolve(), tests, given.each, given.only, given.log)
        case ["apply", engine, root, *words]:
            apply(engine, Path(root), words)
        case _:
            parser.error("say cases, project DIR, or apply ENGINE DIR ACTION ...")


if __name__ == "__main__":
    main()
