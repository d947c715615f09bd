"""Finding lines: three engines, one answer."""

from collections.abc import Callable

import pytest

from kith.core.run import Limits
from kith.core.workspace import ExecLimits
from kith.tools.search import SEARCH
from tools_bench import Bench

ENGINES = [("rg",), ("git",), ()]


@pytest.fixture(params=ENGINES, ids=["ripgrep", "git", "python"])
def engine(request: pytest.FixtureRequest, bench: Bench, make_path: Callable[..., str]) -> Bench:
    """A repository on a machine that has one engine only."""
    full = bench.path
    bench.use_git("init", "-q")
    bench.path = make_path(*request.param)
    assert bench.path != full
    bench.write(".gitignore", "build/\n")
    bench.write("src/a.py", "import os\n\ndef mean(numbers):\n    return sum(numbers)\n")
    bench.write("src/b.txt", "MEAN things\nmean(1)\r\n")
    bench.write("build/c.py", "mean\n")
    bench.write(".github/ci.yml", "run: mean\n")
    bench.write("logo.png", b"mean\0\n")
    return bench


def test_matches_are_grouped_by_file(engine: Bench) -> None:
    result = engine.use(SEARCH, pattern=r"mean\(\w+\)")
    assert result.text == (
        "src/a.py\n1- import os\n2- \n3: def mean(numbers):\n"
        "4-     return sum(numbers)\nsrc/b.txt\n1- MEAN things\n2: mean(1)"
    )
    assert result.ok and result.detail["line"] == r'"mean\(\w+\)": 2 matches in src/a.py src/b.txt'


def test_ignored_and_binary_files_are_left_out_and_hidden_ones_are_not(engine: Bench) -> None:
    assert engine.use(SEARCH, pattern="mean$").text == ".github/ci.yml\n1: run: mean"


def test_generated_folders_are_searched_only_where_they_are_tracked(engine: Bench) -> None:
    for name in ("node_modules/m/index.js", "lib/node_modules/x.js"):
        engine.write(name, "mean(1)\n" * 99)
    assert '"mean\\(1": 1 match in src/b.txt' in engine.use(SEARCH, pattern=r"mean\(1").detail["line"]


def test_a_place_or_a_glob_narrows(engine: Bench) -> None:
    for place in ("src/a.py", "*.py", "src/*.py", "src/**/*.{py,pyi}"):
        assert engine.use(SEARCH, pattern="mean", path=place).detail["line"] == '"mean": 1 match in src/a.py'
    line = engine.use(SEARCH, pattern="mean", path="src").detail["line"]
    assert line == '"mean": 2 matches in src/a.py src/b.txt'


def test_literal_and_case(engine: Bench) -> None:
    assert '"mean(": 2 matches in' in engine.use(SEARCH, pattern="mean(", literal=True).detail["line"]
    assert engine.use(SEARCH, pattern="mean t", ignore_case=True).text.endswith(
        "\n1: MEAN things\n2- mean(1)"
    )
    assert engine.use(SEARCH, pattern="MEAN(", literal=True, ignore_case=True).text.startswith("src/a.py\n")
    assert engine.use(SEARCH, pattern="-e", literal=True).text == "No matches for '-e'; 5 files searched."


def test_a_lookahead_is_understood_by_every_machine(engine: Bench) -> None:
    assert engine.use(SEARCH, pattern="mean(?!\\()", path="src").text.startswith("No matches")
    assert engine.use(SEARCH, pattern="mean(?=\\(1)").text.endswith("src/b.txt\n1- MEAN things\n2: mean(1)")


def test_no_match_is_said(engine: Bench) -> None:
    result = engine.use(SEARCH, pattern="median")
    assert result.ok and result.text == "No matches for 'median'; 5 files searched."
    as_regex = engine.use(SEARCH, pattern="numbers[0]", path="src").text
    assert as_regex == "No matches for 'numbers[0]' as a regex; 2 files searched."


def test_a_broken_regex_is_explained(engine: Bench) -> None:
    result = engine.use(SEARCH, pattern="mean(")
    assert not result.ok
    assert result.text.startswith("'mean(' is not a valid regex (missing ), unterminated subpattern")
    assert result.text.endswith("true.")


def test_patterns_and_names_reach_no_shell(engine: Bench) -> None:
    engine.write("it's; touch stolen", "x `touch stolen` $(touch stolen)\n")
    for pattern in ("`touch stolen`", "$(touch stolen)", "'; touch stolen; '"):
        engine.use(SEARCH, pattern=pattern, literal=True, path="it's; touch stolen")
    assert not (engine.folder / "stolen").exists()
    found = engine.use(SEARCH, pattern="`touch", path="it's; touch stolen")
    assert found.text.startswith("it's; touch stolen\n")


def test_links_out_of_the_tree_are_not_followed(engine: Bench) -> None:
    (engine.folder / "passwd").symlink_to("/etc/passwd")
    (engine.folder / "etc").symlink_to("/etc")
    assert not engine.use(SEARCH, pattern="root", path="passwd").ok
    assert not engine.use(SEARCH, pattern="root", path="etc/passwd").ok
    assert engine.use(SEARCH, pattern="^root:").text.startswith("No matches")
    assert engine.use(SEARCH, pattern="^root:", path="passw*").text.startswith("No matches")


def test_few_matches_are_shown_with_the_lines_around_them(bench: Bench) -> None:
    rows = [f"row {number}" for number in range(1, 31)]
    rows[4] = rows[6] = rows[19] = "needle"
    bench.write("a.txt", "\n".join(rows))
    shown = bench.use(SEARCH, pattern="needle").text.split("\n")
    assert shown == [
        *("a.txt", "3- row 3", "4- row 4", "5: needle", "6- row 6", "7: needle", "8- row 8", "9- row 9"),
        *("--", "18- row 18", "19- row 19", "20: needle", "21- row 21", "22- row 22"),
    ]
    bench.write("b.txt", "before\n" + "needle\n" * 5)
    assert "1- before" not in bench.use(SEARCH, pattern="needle").text


def test_in_one_file_the_first_page_is_shown_at_once(bench: Bench) -> None:
    bench.write("many.txt", "needle\n" * 150)
    for place in ("many.txt", "."):
        rows = bench.use(SEARCH, pattern="needle", path=place).text.split("\n")
        assert rows[:3] == ["150 matches in 1 file:", "many.txt", "1: needle"]
        assert rows[-2:] == ["60: needle", "[90 lines left out: search with offset 60]"]


def test_many_matches_begin_with_the_files(engine: Bench) -> None:
    for number in range(30):
        engine.write(f"many/f{number:02}.txt", "needle\n" * (number + 1))
    rows = engine.use(SEARCH, pattern="needle").text.split("\n")
    assert rows[:2] == ["465 matches in 30 files:", "   30 many/f29.txt"]
    assert rows[21] == "[10 files left out]"
    assert all(f"many/f{number:02}.txt" in rows[23:] for number in range(30))
    assert sum(row.endswith(": needle") for row in rows) == 40
    assert rows[-1].startswith("[425 lines left out: ") and rows[-1].endswith("offset 0]")


def test_every_match_is_reached_page_by_page(bench: Bench) -> None:
    bench.write("many.txt", "needle\n" * 150)
    seen, offset = list[str](), 0
    while True:
        rows = bench.use(SEARCH, pattern="needle", offset=offset).text.split("\n")
        seen += [row.partition(":")[0] for row in rows if row.endswith(": needle")]
        if not rows[-1].startswith("["):
            break
        offset = int(rows[-1].rpartition(" ")[2].rstrip("]"))
    assert seen == [str(number + 1) for number in range(150)]
    assert not bench.use(SEARCH, pattern="needle", offset=150).ok


def test_long_lines_are_cut(engine: Bench) -> None:
    engine.write("min.js", "needle" + "x" * 5000 + "\n")
    text = engine.use(SEARCH, pattern="needle").text
    assert len(text) < 300 and "left out]" in text


def test_slips_are_explained(bench: Bench) -> None:
    bench.write("src/utils.py", "x\n")
    assert bench.use(SEARCH, pattern="x", path="src/util.py").text == (
        "There is nothing to search at 'src/util.py'. Similar: src/utils.py."
    )
    for pattern in ("", "a\nb", "a\0"):
        result = bench.use(SEARCH, pattern=pattern)
        assert not result.ok and "one line" in result.text
    assert bench.use(SEARCH, pattern="x", path="../..").text == "'../..' is outside the project's folder."


@pytest.mark.slow
def test_a_slow_engine_is_stopped_and_said(bench: Bench, make_path: Callable[..., str]) -> None:
    slow = bench.folder.parent / "slow"
    slow.mkdir()
    (slow / "rg").write_text("#!/bin/sh\nprintf 'a.txt\\0001:x\\n'\nexec /bin/sleep 20\n")
    (slow / "rg").chmod(0o755)
    bench.path, bench.limits = str(slow), Limits(exec=ExecLimits(seconds=0.3))
    bench.write("a.txt", "x\n")
    result = bench.use(SEARCH, pattern="x")
    assert result.text == "at least 1 match in 1 file, the search ran into its limit:\na.txt\n1: x"
    (slow / "rg").write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    assert bench.use(SEARCH, pattern="x").text == "No matches for 'x'; the search ran into its limit."
