"""The command that serves a project best: kept, and chosen again when something was installed."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gating import LIMITS, judge, make_repository
from kith.agent.checks import KeptResults
from kith.agent.ecosystems import ecosystems
from kith.core.run import Gate, Run
from kith.core.values import Answer, Change, Changes, Question, Ran
from kith.core.workspace import ExecLimits, ShellCommand, Trial, Workspace
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import Before, Bench, read_choice
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.toolchain import PYTHON, Toolchain
from kith.gates.toolchains import find_candidates
from kith.trees.local import open_tree
from runners import RUNNERS

WITH_TOOL = Toolchain(
    "unittest", "Python", "", "sh installed/tool && python3 -m unittest test_a", RUNNERS["unittest"]
)
WITHOUT = Toolchain("unittest", "Python", "", "python3 -m unittest test_b", RUNNERS["unittest"])
TEST = "import unittest\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n"


async def _nobody(question: Question) -> Answer:
    raise AssertionError(question.text)


@pytest.mark.usefixtures("sandbox")
def test_what_is_installed_later_is_found(tmp_path: Path) -> None:
    files = {"test_a.py": TEST, "test_b.py": TEST, ".gitignore": "installed\n__pycache__\n"}
    root = make_repository(tmp_path / "project", files)
    kept = KeptResults(tmp_path / "cache", tmp_path / "state")

    async def choose(environment: str) -> str:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        bench = Bench(tree, LIMITS, kept, tree.digests, lambda folder: environment)
        try:
            found = await bench.before(Run(lambda event, path: None, _nobody, tree), (WITH_TOOL, WITHOUT))
        finally:
            await bench.aclose()
        choice = read_choice(kept, root, (WITH_TOOL, WITHOUT))
        assert choice and choice.command == found.toolchain.test
        return found.toolchain.run

    assert asyncio.run(choose("bare")) == WITHOUT.run
    (root / "installed").mkdir()
    (root / "installed" / "tool").write_text("true\n")
    assert asyncio.run(choose("bare")) == WITHOUT.run  # nothing says that anything was installed
    assert asyncio.run(choose("with tool")) == WITH_TOOL.run


@pytest.mark.usefixtures("sandbox")
def test_what_a_clean_up_removes_from_the_tree_is_there_again(tmp_path: Path) -> None:
    """With its mode: scripts can be started, and links lead where they did."""
    root = make_repository(tmp_path / "project", {"run.sh": "exit 0\n", "kept.sh": "exit 1\n"})
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    made = Toolchain("make", "C", "", "./run.sh && ./link && test -L link", clean="rm -f run.sh link")
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    bench = Bench(tree, LIMITS)
    change = (Change("kept.sh", b"exit 1\n", b"exit 2\n"),)

    async def work() -> tuple[Before, SuiteReport]:
        run = Run(lambda event, path: None, _nobody, tree)
        before = await bench.before(run, (made,))
        return before, await bench.after(run, before, change)

    before, after = asyncio.run(work())
    assert (before.report.ran.code, after.ran.code) == (0, 0)


SUITE = """
import unittest


class TestA(unittest.TestCase):
    pass

for number in range({count}):
    setattr(TestA, f"test_{{number}}", lambda self, number=number: self.assertGreaterEqual(number, {failing}))
"""


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("files", "long_s", "runs"),
    [
        ({"test_a.py": SUITE.format(count=40, failing=2)}, 0.0, 1),  # long, and nearly all of it passes
        ({"test_a.py": SUITE.format(count=40, failing=2)}, 600.0, 2),  # quick: another one costs little
        ({"test_a.py": SUITE.format(count=40, failing=9)}, 0.0, 2),
        # What cannot be loaded may hold as many tests as the other files do.
        ({"test_a.py": SUITE.format(count=40, failing=0), "test_b.py": "import absent\n"}, 0.0, 2),
    ],
)
def test_a_long_suite_that_nearly_passes_ends_the_choice(
    tmp_path: Path, files: dict[str, str], long_s: float, runs: int
) -> None:
    root = make_repository(tmp_path / "project", {**files, ".gitignore": "__pycache__\n"})
    names = " ".join(name.removesuffix(".py") for name in files)
    group = [
        Toolchain("unittest", "Python", "", f"{before}python3 -m unittest {names}", RUNNERS["unittest"])
        for before in ("", "true && ")
    ]
    kept = KeptResults(tmp_path / "cache", tmp_path / "state")

    async def choose() -> str:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        bench = Bench(tree, LIMITS, kept, tree.digests, long_s=long_s)
        try:
            found = await bench.before(Run(lambda event, path: None, _nobody, tree), group)
        finally:
            await bench.aclose()
        return found.toolchain.run

    assert asyncio.run(choose()) == group[0].run
    results = [path for path in (tmp_path / "cache" / "checks").iterdir() if "choice" not in path.name]
    assert len(results) == runs


FAILS = "def test_c():\n    assert 1 == 2\n"
PASSES = "def test_a():\n    assert True\n\n\n"


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("other", "package", "runs"),
    [
        (FAILS, "pkg_of_no_one", 1),  # the sources have it all
        (FAILS, "json", 2),  # it is installed
        ("import pkg\n\n\ndef test_b():\n    assert pkg.x == 1\n", "pkg_of_no_one", 1),
        ("from pkg import built\n\n\ndef test_b():\n    assert built\n", "pkg_of_no_one", 2),
        ("def test_b():\n    import pkg.built\n", "pkg_of_no_one", 2),
        ("import importlib.metadata as m\n\n\ndef test_b():\n    m.version('none')\n", "pkg_of_no_one", 2),
    ],
)
def test_a_built_package_is_tested_where_there_may_be_one(
    tmp_path: Path, other: str, package: str, runs: int
) -> None:
    files = {"src/pkg/__init__.py": "", "test_a.py": PASSES, "test_b.py": other}
    root = make_repository(tmp_path / "project", {**files, ".gitignore": "__pycache__\n"})
    line = f"{PYTHON} -m pytest -q"
    sources = Toolchain("pytest", "Python", "", line, RUNNERS["pytest"], env=(("PYTHONPATH", "src"),))
    events = list[ShellCommand]()

    class Noted:
        def __init__(self, trial: Trial) -> None:
            self._trial = trial

        def __getattr__(self, name: str) -> Any:
            return getattr(self._trial, name)

        async def check(self, command: ShellCommand, limits: ExecLimits) -> Ran:
            events.append(command)
            return await self._trial.check(command, limits)

    class Tree:
        def __getattr__(self, name: str) -> Any:
            return getattr(tree, name)

        @asynccontextmanager
        async def trial(self, name: str = "") -> AsyncIterator[Trial]:
            async with tree.trial(name) as trial:
                yield cast("Trial", Noted(trial))

    async def choose() -> Before:
        bench = Bench(cast("Workspace", Tree()), LIMITS)
        run = Run(lambda event, path: None, _nobody, cast("Workspace", tree))
        return await bench.before(run, (sources, replace(sources, env=(), installed=(package,))))

    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    assert asyncio.run(choose()).toolchain == sources
    assert len(events) == runs


@pytest.mark.usefixtures("sandbox")
def test_a_long_command_that_names_no_test_does_not_end_the_choice(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"test_b.py": TEST, ".gitignore": "__pycache__\n"})
    broken = Toolchain("make check", "", "", "exit 2", RUNNERS["command"])
    assert _choose(tmp_path, root, broken, WITHOUT) == WITHOUT


@pytest.mark.usefixtures("sandbox")
def test_of_commands_without_a_passing_test_the_one_that_builds_serves_best(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a": ""})
    unbuilt = Toolchain("ctest", "C", "", "exit 8", build="exit 2")
    assert _choose(tmp_path, root, unbuilt, built := replace(unbuilt, build="true")) == built


def _choose(tmp_path: Path, root: Path, *group: Toolchain) -> Toolchain:
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")

    async def choose() -> Toolchain:
        bench = Bench(tree, LIMITS, long_s=0.0)
        try:
            run = Run(lambda event, path: None, _nobody, tree)
            return (await bench.before(run, group)).toolchain
        finally:
            await bench.aclose()

    return asyncio.run(choose())


@pytest.mark.usefixtures("sandbox")
def test_a_change_has_more_time_than_the_untouched_tree_took_near_the_limit(tmp_path: Path) -> None:
    slow = f"import time\n\ntime.sleep(0.3)\n{TEST}"
    root = make_repository(tmp_path / "project", {"test_b.py": slow})
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    before = Before(
        WITHOUT, SuiteReport(Ran("", 0, "", 590.0), (CaseResult("test_b.TestA.test_a", "passed"),))
    )

    async def after() -> SuiteReport:
        bench = Bench(tree, replace(LIMITS, seconds=0.2))
        try:
            return await bench.after(Run(lambda event, path: None, _nobody, tree), before, ())
        finally:
            await bench.aclose()

    report = asyncio.run(after())
    assert report.passed and not report.ran.timed_out


@pytest.mark.usefixtures("sandbox")
@pytest.mark.slow
@pytest.mark.parametrize(("slow", "passed"), [(5, False), (0, True)])
def test_after_one_that_runs_out_of_time_others_have_less(tmp_path: Path, slow: int, passed: bool) -> None:
    """A database that is missing makes each test of each command wait."""
    root = make_repository(tmp_path / "project", {"test_b.py": TEST, ".gitignore": "__pycache__\n"})
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    group = (replace(WITHOUT, run="sleep 60"), replace(WITHOUT, run=f"sleep {slow}; {WITHOUT.run}"))

    async def before() -> Before:
        bench = Bench(tree, replace(LIMITS, seconds=12.0))
        try:
            return await bench.before(Run(lambda event, path: None, _nobody, tree), group)
        finally:
            await bench.aclose()

    assert bool(asyncio.run(before()).report.passed) is passed


@pytest.mark.usefixtures("sandbox")
@pytest.mark.slow
def test_examples_that_cannot_be_loaded_do_not_fail_a_long_suite(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\ntestpaths = tests\npythonpath = .\n",
        "lib.py": "def f(a):\n    return a + 1\n",
        "tests/test_lib.py": "from lib import f\n\n\ndef test_f():\n    assert f(1) == 2\n",
        "tests/test_far.py": "import time\n\n\ndef test_far():\n    time.sleep(0.2)\n",
        "examples/conftest.py": "import a_package_of_the_example\n",
        "examples/test_example.py": "from lib import f\n\n\ndef test_example():\n    assert f(2) == 3\n",
    }
    root = make_repository(tmp_path / "project", {**files, ".gitignore": "__pycache__\n"})

    def gate(home: Run) -> Gate:
        bench = Bench(home.workspace, LIMITS, long_s=0.0)
        command = Toolchain("pytest", "Python", "", "python3 -m pytest -q", RUNNERS["pytest"])
        return evidence_gate(bench, Check((command,), found=True), Claims("simplify f"))

    verdict = judge(root, {"lib.py": "def f(a):\n    return 1 + a\n"}, gate)
    assert verdict.evidence is not None
    assert (verdict.ok, verdict.evidence.grade) == (True, "held")


LIBRARY = {
    "Makefile": (
        "OBJECTS = number.o other.o\n"
        "test: unit\n\t./unit\n"
        "unit: unit.o libnumber.a\n\t$(CC) -o $@ unit.o libnumber.a\n"
        "libnumber.a: $(OBJECTS)\n\tar rcs $@ $(OBJECTS)\n"
    ),
    "number.h": "#define NUMBER 1\n",
    "number.c": '#include "number.h"\nint number(void) { return NUMBER; }\n',
    "other.c": "int other(void) { return 1; }\n",
    "unit.c": "int number(void), other(void);\nint main(void) { return number() != other(); }\n",
}
MAKEFILE = LIBRARY["Makefile"].encode()


@pytest.mark.slow
@pytest.mark.skipif(not (which("make") and which("cc")), reason="needs make and a compiler")
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("ignored", ["*.o\n*.a\nunit\n", ""])
@pytest.mark.parametrize("more", ["clean:\n\trm -f *.o *.a unit\n", ""])
def test_no_build_of_the_user_hides_a_breakage(tmp_path: Path, ignored: str, more: str) -> None:
    files = {**LIBRARY, "Makefile": LIBRARY["Makefile"] + more}
    files |= {".gitignore": ignored} if ignored else {}
    root = make_repository(tmp_path / "project", files)
    subprocess.run(["make", "test"], cwd=root, check=True, capture_output=True)
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    bench = Bench(tree, LIMITS)
    less = MAKEFILE.replace(b" other.o", b"", 1)
    gone = Change("other.c", LIBRARY["other.c"].encode(), None)
    breaking: list[Changes] = [
        (Change("number.h", b"#define NUMBER 1\n", b"#define NUMBER 2\n"),),
        (Change("number.h", b"#define NUMBER 1\n", None),),
        (gone,),
        (gone, Change("Makefile", files["Makefile"].encode(), less + more.encode())),
    ]

    async def work() -> list[int]:
        run = Run(lambda event, path: None, _nobody, tree)
        (group,) = find_candidates(tuple(files), lambda path: files[path].encode(), ecosystems())
        before = await bench.before(run, group)
        reports = [await bench.after(run, before, changes) for changes in breaking]
        return [before.report.ran.code, *(min(report.ran.code, 1) for report in reports)]

    assert asyncio.run(work()) == [0, 1, 1, 1, 1]
    assert (root / "unit").exists()


@pytest.mark.usefixtures("sandbox")
def test_the_same_is_started_in_one_way_where_that_ends_well(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"test_a.py": TEST})
    other = Toolchain("make test", "C", "", "python3 -m unittest test_a", RUNNERS["unittest"])
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    run = Run(lambda event, path: None, _nobody, tree)
    for line, name, chosen in (("true", "make test", 0), ("false", "make test", 1), ("true", "make", 1)):
        group = (Toolchain(name, "C", "", line), other)
        assert asyncio.run(Bench(tree, LIMITS).before(run, group)).toolchain == group[chosen]


@pytest.mark.usefixtures("sandbox")
def test_a_script_that_only_defines_tests_is_no_way_to_run_them(tmp_path: Path) -> None:
    text = "from os import path\n\n\ndef test_a():\n    assert path\n"
    starts = f"{text}\n\nif __name__ == '__main__':\n    test_a()\n"
    files = {"test/test_a.py": text, "test/test_b.py": starts}
    tree = open_tree(make_repository(tmp_path / "project", files), tmp_path / "state", tmp_path / "cache")
    run = Run(lambda event, path: None, _nobody, tree)
    runner = Toolchain("none", "Python", "", "false", RUNNERS["pytest"])
    for name, chosen in (("test_a", 0), ("test_b", 1)):
        script = Toolchain(f"test/{name}.py", "Python", "", f"{PYTHON} test/{name}.py")
        group = (runner, script)
        assert asyncio.run(Bench(tree, LIMITS).before(run, group)).toolchain == group[chosen]


@pytest.mark.usefixtures("sandbox")
def test_where_all_tests_are_skipped_another_way_to_start_them_is_tried(tmp_path: Path) -> None:
    text = (
        "import os, unittest\n\n\nclass T(unittest.TestCase):\n"
        "    @unittest.skipUnless(os.environ.get('ALL'), 'not all')\n"
        "    def test_a(self):\n        pass\n"
    )
    root = make_repository(tmp_path / "project", {"test_a.py": text})
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    run = Run(lambda event, path: None, _nobody, tree)
    line = "python3 -m unittest test_a"
    skipped, passing = (
        Toolchain("unittest", "Python", "", each, RUNNERS["unittest"]) for each in (line, f"ALL=1 {line}")
    )
    assert asyncio.run(Bench(tree, LIMITS).before(run, (skipped, passing))).toolchain == passing


@pytest.mark.usefixtures("sandbox")
def test_tracked_objects_are_there_after_a_clean_up(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a": "\x7fELF", "b.txt": "b\n"})
    for number in range(700):  # more than one command can name
        (root / f"{number:0200}.new").write_bytes(b"\x7fELF")
    clean = "rm -f a b.txt *.new"
    made = Toolchain("make", "C", "", "test -f a && test -f b.txt && ! ls *.new", clean=clean)
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    bench = Bench(tree, LIMITS)
    run = Run(lambda event, path: None, _nobody, tree)
    assert asyncio.run(bench.before(run, (made,))).report.ran.code == 0
