"""`kith scan` from outside: on real packages, on C++, outside git, in an empty folder, on hostile names."""

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from outside import Kith
from waiting import until

BLOCK = """\
    total = 0
    for row in table.rows(limit, offset):
        if row.kind == "price" and row.value > lowest and row.date in (first, last):
            total += row.value * factor
        elif row.kind == "discount" or row.kind == "rebate":
            total -= min(row.value, total)
        else:
            log(row, table, limit, offset, "neither price nor discount", row.kind)
    report(total, table.name, currency, first, last)
    return total
"""


def package(name: str, folder: Path) -> Kith:
    """A copy of an installed package in a git repository of its own."""
    found = util.find_spec(name)
    assert found and found.origin
    folder.mkdir()
    shutil.copytree(Path(found.origin).parent, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", name]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return Kith(folder)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Kith:
    """toolz, for tests that only look at it."""
    return package("toolz", tmp_path_factory.mktemp("toolz") / "project")


@pytest.fixture
def toolz(tmp_path: Path) -> Kith:
    return package("toolz", tmp_path / "project")


@pytest.fixture
def empty(tmp_path: Path) -> Kith:
    (tmp_path / "empty").mkdir()
    return Kith(tmp_path / "empty")


def scan(kith: Kith, *words: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(kith("scan", "--json", "--no-lint", *words).stdout)
    return report


def test_the_first_screen_says_what_it_is(unchanged: Kith) -> None:
    lines = unchanged("scan", "--no-lint").stdout.split("\n")
    assert lines[0].startswith("project: Python; ")
    screen = "\n".join(lines[:24])
    for part in (
        "Languages",
        "Tests",
        "python3 -m pytest -q",
        "coverage not known: kith build measures it",
        "Layout",
    ):
        assert part in screen
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "\n".join(lines)


@pytest.mark.slow
def test_the_report_holds_what_is_known_of_a_real_package(unchanged: Kith) -> None:
    report = scan(unchanged)
    assert report["languages"][0]["name"] == "Python"
    files = [*unchanged.folder.rglob("*.py")]
    assert report["size"]["files"] == len(files)
    assert report["size"]["lines"] == sum(len(file.read_bytes().split(b"\n")) - 1 for file in files)
    assert report["size"]["tests"] == len([*unchanged.folder.rglob("test_*.py")])
    assert report["toolchains"][0]["test"] == "python3 -m pytest -q"
    used = {each["path"]: each["by"] for each in report["modules"]["most_used"]}
    assert used["toolz/itertoolz.py"] >= 3
    assert report["functions"]["functions"] > 100
    worst = [each["function"]["name"] for each in report["functions"]["worst"]]
    assert "reduceby" in " ".join(worst) or report["functions"]["above"] >= 1
    spots = report["history"]["hotspots"]
    assert spots and spots[0]["score"] == 1.0 and spots[0]["commits"] == 1
    assert report["linted"]["problems"] == ["not run: --no-lint"]


@pytest.mark.slow
def test_pyflakes_is_started_and_tested_with_unittest(tmp_path: Path) -> None:
    report = scan(package("pyflakes", tmp_path / "project"))
    assert report["toolchains"][0]["name"] == "unittest"
    assert {"kind": "main", "name": "__main__", "path": "pyflakes/__main__.py", "target": ""} in report[
        "entries"
    ]
    assert report["functions"]["worst"][0]["path"].startswith("pyflakes/")


@pytest.mark.slow
def test_cpp_with_cmake(tmp_path: Path, home: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        "enable_testing()\nadd_executable(app src/main.cpp)\nadd_test(NAME a COMMAND app)\n"
    )
    (tmp_path / "src" / "main.cpp").write_text(
        '#include "box.h"\nint main() {\n  return size() > 1 && true;\n}\n'
    )
    (tmp_path / "src" / "box.h").write_text('#pragma once\n#include "main.h"\nint size();\n')
    (tmp_path / "src" / "main.h").write_text('#pragma once\n#include "box.h"\nstruct Box { int a; };\n')
    report = scan(Kith(tmp_path))
    assert {"kind": "program", "name": "app", "path": "CMakeLists.txt", "target": ""} in report["entries"]
    assert report["toolchains"][0]["configure"].startswith("cmake -S .")
    assert report["modules"]["cycles"] == [{"way": ["src/box.h", "src/main.h"], "modules": 2}]
    assert report["functions"]["worst"] == [] and report["functions"]["functions"] == 1
    assert report["history"]["unknown"] == "there is no git history"


@pytest.mark.slow
def test_a_copied_block_is_shown_and_a_whole_copy_counted(empty: Kith) -> None:
    (empty.folder / "one.py").write_text(f"def one(table):\n{BLOCK}")
    (empty.folder / "two.py").write_text(f"import sys\n\n\ndef two(table):\n{BLOCK}\n\nprint(two(sys))\n")
    shutil.copy(empty.folder / "one.py", empty.folder / "same.py")
    report = scan(empty)
    assert report["size"]["copies"] == 1
    [found] = report["copied"]["longest"]
    assert [found["place"]["path"], found["other"]["path"]] == ["one.py", "two.py"]
    assert (found["place"]["last"], found["other"]["last"]) == (11, 14)


def test_an_empty_folder_is_one_sentence(empty: Kith) -> None:
    assert empty("scan").stdout == "There are no files here.\n"
    assert empty("scan", "--md", "--svg", "picture.svg").stdout.startswith("# empty\n")
    ElementTree.parse(empty.folder / "picture.svg")


@pytest.mark.slow
def test_a_part_of_the_project(unchanged: Kith) -> None:
    part = scan(unchanged, "toolz/sandbox")
    assert part["folder"] == "toolz/sandbox"
    assert part["functions"]["functions"] > 0 and part["functions"]["worst"] == []
    assert part["size"]["files"] == len([*(unchanged.folder / "toolz" / "sandbox").rglob("*.py")])
    inside = Kith(unchanged.folder / "toolz")
    assert scan(inside, "sandbox") == part
    assert scan(unchanged, "-C", "toolz", "utils.py")["size"]["files"] == 1
    assert unchanged("scan", "nowhere", code=2).stderr == "kith: There is no folder 'nowhere'.\n"
    assert "is not in the project" in unchanged("scan", "../..", "-C", "toolz", code=2).stderr


@pytest.mark.slow
def test_only_what_changed_is_looked_at_again_and_says_the_same(toolz: Kith, home: Path) -> None:
    first = scan(toolz)
    (toolz.folder / "toolz" / "utils.py").write_text("def fresh(a):\n    return a or 1\n")
    (toolz.folder / "toolz" / "compatibility.py").unlink()
    (toolz.folder / "new.py").write_text("import toolz.utils\n")
    again = scan(toolz)
    assert again != first
    shutil.rmtree(home / ".cache" / "kith" / "scan")
    assert scan(toolz) == again


@pytest.mark.slow
def test_a_broken_cache_is_made_anew(toolz: Kith, home: Path) -> None:
    first = scan(toolz)
    [store] = (home / ".cache" / "kith" / "scan").glob("*.sqlite3")
    store.write_bytes(b"no database" * 1_000)
    assert scan(toolz) == first
    assert store.read_bytes().startswith(b"SQLite format 3\0")


@pytest.mark.slow
def test_documents_are_whole_self_contained_and_the_same_each_time(unchanged: Kith, tmp_path: Path) -> None:
    pictures = [tmp_path / "a.svg", tmp_path / "b.svg"]
    texts = [unchanged("scan", "--md", "--no-lint", "--svg", str(path)).stdout for path in pictures]
    assert texts[0] == texts[1]
    for heading in (
        "Languages",
        "Tests",
        "Layout",
        "Modules",
        "Complexity",
        "Hot spots",
        "Findings",
    ):
        assert f"\n## {heading}\n" in texts[0]
    svg = pictures[0].read_text()
    assert svg == pictures[1].read_text()
    root = ElementTree.fromstring(svg)
    assert "itertoolz.py" in "".join(root.itertext())
    assert "href" not in svg and "url(" not in svg and "prefers-color-scheme: dark" in svg
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, width, height = (float(box.get(name, "0")) for name in ("x", "y", "width", "height"))
        assert width >= 0 and height >= 0 and x + width <= 1200.2 and y + height <= 820.2


@pytest.mark.slow
def test_linters_report_and_say_what_is_missing(toolz: Kith, sandbox: None) -> None:
    (toolz.folder / "bad.py").write_text("import os\n\n\ndef f():\n    return undefined_name\n")
    (toolz.folder / "run.sh").write_text("#!/bin/sh\necho $1\n")
    report = json.loads(toolz("scan", "--json").stdout)["linted"]
    assert "ruff" in report["tools"] or any("ruff" in each for each in report["problems"])
    if "ruff" in report["tools"]:
        assert any(each["path"] == "bad.py" and each["rule"] == "F821" for each in report["findings"])
    assert toolz("scan", "--lint", "--no-lint", code=2).stderr.startswith("kith: Either --lint or --no-lint")
    assert not [*toolz.folder.rglob(".ruff_cache")]  # nothing is left in the tree


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "coverage.json",
            '{"files": {"a.py": {"executed_lines": [1, 2, 3], "missing_lines": [4], "summary": {}}}}',
        ),
        ("lcov.info", "SF:a.py\nLF:4\nLH:3\nend_of_record\n"),
    ],
)
def test_coverage_is_read_where_a_report_lies(empty: Kith, name: str, text: str) -> None:
    (empty.folder / "a.py").write_text("a\nb\nc\nd\n")
    (empty.folder / name).write_text(text)
    assert scan(empty)["covered"] == {"share": 0.75, "source": name}


@pytest.mark.slow
def test_hostile_trees_are_survived(empty: Kith) -> None:
    folder = empty.folder
    (folder / "a\x1b[31m\u202ename.py").write_text("def f(a):\n" + "    return a\n")
    (folder / os.fsdecode(b"caf\xe9.py")).write_text("import os\n")
    (folder / "deep.py").write_text("x = " + "(" * 3_000 + ")" * 3_000 + "\n")
    (folder / "line.js").write_text("f(" + "a," * 2_600_000 + ")")  # over five megabytes in one line
    (folder / "latin.py").write_bytes(b"# caf\xe9\nx = 1\n")
    (folder / "zero.py").write_bytes(b"\0" * 100)
    (folder / "away").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    (folder / "secret.py").write_text("x = 1\n")
    (folder / "secret.py").chmod(0)
    shown = empty("scan", "--no-lint", "--svg", "p.svg")
    assert "\x1b" not in shown.stdout and "\u202e" not in shown.stdout
    assert "\\x1b[31m\\u202ename.py" in shown.stdout
    assert "1 is too large to read" in shown.stdout and "root" not in shown.stdout
    ElementTree.parse(folder / "p.svg")
    markdown = empty("scan", "--no-lint", "--md").stdout
    assert "\x1b" not in markdown and "\u202e" not in markdown


@pytest.mark.slow
def test_ctrl_c_ends_it_at_once_and_the_next_goes_on(empty: Kith) -> None:
    text = "".join(f"def f{n}(a):\n    return a if a else {n}\n\n\n" for n in range(600))
    for number in range(900):
        (empty.folder / f"m{number}.py").write_text(text.replace("f", f"f{number}_"))
    command = [sys.executable, "-m", "kith", "scan", "--no-lint"]
    process = subprocess.Popen(
        command, cwd=empty.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    until(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text)  # it looks at files
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert b"Traceback" not in told


@pytest.mark.slow
def test_without_a_sandbox_no_linter_runs_the_projects_own_code(
    kith: Kith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mypy loads plugins, and so does clang-tidy where the way a file is compiled names one."""
    canary = tmp_path / "canary"
    (kith.folder / "plug.py").write_text(f"open({str(canary)!r}, 'w')\ndef plugin(version): ...\n")
    (kith.folder / "mypy.ini").write_text("[mypy]\nplugins = plug.py\n")
    (kith.folder / "CMakeLists.txt").write_text("project(x)\n")
    (kith.folder / "a.cpp").write_text("int main() {}\n")
    monkeypatch.setenv("KITH_SANDBOX", "off")
    for words in (("scan", "--lint"), ("review", "--no-model")):
        told = " ".join((done := kith(*words, code=None)).stdout.split() + done.stderr.split())
        for name in ("mypy", "clang-tidy"):
            assert f"{name} was not run: without a sandbox that may run the project's own code." in told
    assert not canary.exists()
