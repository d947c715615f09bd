"""Looking at files and folders: every line can be reached, and every slip gets an answer."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.values import CallTarget
from kith.tools.files import LARGEST, LIST, LISTED, WIDTH, ReadLimits, make_read
from tools_bench import Bench

READ = make_read()
TEXT_LINES = st.lists(
    st.text(st.characters(blacklist_characters="\n\0", blacklist_categories=["Cs"])), max_size=40
)


_HEAD = re.compile(r".+?, (?:(\d+) lines?|lines (\d+)-(\d+) of \d+)[^\n]*:$")


def shown_lines(text: str) -> dict[int, str]:
    """The lines in an answer, by the numbers that its heading gives them."""
    heading, *rows = text.split("\n")
    found = _HEAD.match(heading)
    if not found:
        return {}
    first, last = (1, int(found[1])) if found[1] else (int(found[2]), int(found[3]))
    return dict(zip(range(first, last + 1), rows[: last - first + 1], strict=True))


def test_a_file_is_shown_whole_as_it_is(bench: Bench) -> None:
    bench.write("src/a.py", "import os\n\n\tprint(os)\n")
    result = bench.use(READ, paths=["src/a.py"])
    assert result.text == "import os\n\n\tprint(os)"
    assert bench.use(READ, paths=["src/a.py:1-9"]).text == f"src/a.py, 3 lines:\n{result.text}"
    bench.write("blank", "\n\n")
    both = bench.use(READ, paths=["src/a.py", "blank"]).text
    assert both == f"src/a.py, 3 lines:\n{result.text}\n\nblank, 2 lines:\n\n"
    assert bench.use(READ, paths=["blank"]).text == "blank, 2 lines:\n\n"
    assert result.ok and result.detail["line"] == "src/a.py, 3 lines"


def test_a_range_is_shown_and_one_past_the_end_is_cut(bench: Bench) -> None:
    bench.write("a.txt", "".join(f"{n}\n" for n in range(1, 31)))
    assert bench.use(READ, paths="./a.txt:29-99").text == "a.txt, lines 29-30 of 30:\n29\n30"
    assert list(shown_lines(bench.use(READ, paths="a.txt:0-2").text)) == [1, 2]
    assert list(shown_lines(bench.use(READ, paths="a.txt:29").text)) == [29, 30]


def test_each_path_has_its_own_range(bench: Bench) -> None:
    bench.write("a.txt", "1\n2\n3\n")
    bench.write("b.txt", "4\n5\n6\n")
    assert bench.use(READ, paths=["a.txt:2-3", "b.txt:1-1"]).text == (
        "a.txt, lines 2-3 of 3:\n2\n3\n\nb.txt, lines 1-1 of 3:\n4"
    )


def test_a_policy_sees_files_without_their_lines() -> None:
    assert READ.target({"paths": ["./.env:1-5", "a//b.py:3-", "c:x"]}) == CallTarget(".env a/b.py c:x")


def test_a_long_file_says_how_to_read_on(bench: Bench) -> None:
    bench.write("long.txt", "x\n" * 900)
    result = bench.use(READ, paths=["long.txt"])
    assert result.text.startswith("long.txt, lines 1-250 of 900:\n")
    assert result.text.endswith("\n[650 lines left out: read long.txt:251-]")
    asked = bench.use(READ, paths=["long.txt:300-600"])
    assert asked.text.startswith("long.txt, lines 300-600 of 900:\n")
    short = bench.use(make_read(ReadLimits(bytes=200)), paths=["long.txt:300-600"])
    assert short.text.endswith("lines left out: read long.txt:400-600]")


def test_a_larger_window_reads_more_lines_at_once(bench: Bench) -> None:
    bench.write("long.txt", "x = 1\n" * 1200)
    for window, last in ((0, 250), (8_192, 250), (32_768, 512), (131_072, 1000)):
        shown = bench.use(make_read(ReadLimits.of_window(window)), paths=["long.txt"]).text
        assert shown.endswith(f"\n[{1200 - last} lines left out: read long.txt:{last + 1}-]")
    bench.write("wide.txt", f"{'x' * 99}\n" * 1200)
    wide = bench.use(make_read(ReadLimits.of_window(131_072)), paths=["wide.txt"]).text
    assert wide.endswith("\n[720 lines left out: read wide.txt:481-]")


def test_a_few_lines_beyond_the_limit_cost_no_further_call(bench: Bench) -> None:
    bench.write("long.txt", "x\n" * 275)
    assert bench.use(READ, paths=["long.txt"]).text == "\n".join("x" * 275)
    bench.write("long.txt", "x\n" * 276)
    assert bench.use(READ, paths=["long.txt"]).text.startswith("long.txt, lines 1-250 of 276:\n")


@settings(max_examples=60, deadline=None)
@given(TEXT_LINES, st.integers(1, 9), st.integers(20, 400), st.booleans())
def test_every_line_is_reached_by_reading_on(lines: list[str], most: int, size: int, crlf: bool) -> None:
    lines = [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]
    tool = make_read(ReadLimits(most, size))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Path(folder) / ".kith")
        bench.write("f", "".join(line + ("\r\n" if crlf else "\n") for line in lines))
        seen: dict[int, str] = {}
        asked = "f"
        for _ in range(len(lines) + 1):
            text = bench.use(tool, paths=[asked]).text
            page = shown_lines(text) or dict(enumerate(text.split("\n")[: len(lines)], 1))
            assert len(page) <= most and len(text.encode()) <= size + WIDTH * 4 + 200
            seen |= page
            hint = re.search(r"\[\d+ lines? left out: read (f:\d+-)\]$", text)
            if not hint:
                break
            asked = hint[1]
    assert [seen[number] for number in sorted(seen)] == lines
    assert sorted(seen) == list(range(1, len(lines) + 1))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 40))
def test_a_range_shows_exactly_its_lines_or_says_why_not(count: int, start: int, end: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Path(folder) / ".kith")
        bench.write("f", "".join(f"line {n}\n" for n in range(1, count + 1)))
        result = bench.use(READ, paths=[f"f:{start}-{end}"])
    wanted = list(range(max(start, 1), min(end, count) + 1))
    assert list(shown_lines(result.text)) == wanted
    assert result.ok == (bool(wanted) or count == 0)


def test_very_long_lines_are_cut_and_say_so(bench: Bench) -> None:
    bench.write("a.js", "x" * 50_000 + "\nshort\n")
    text = bench.use(READ, paths=["a.js"]).text
    assert "x… [48,000 characters left out]\nshort" in text and len(text) < 2200


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("a.txt:4-", "a.txt has 3 lines: line 4 is past its end."),
        ("a.txt:3-2", "a.txt: line 2 comes before line 3."),
    ],
)
def test_impossible_ranges(bench: Bench, path: str, answer: str) -> None:
    bench.write("a.txt", "1\n2\n3")
    result = bench.use(READ, paths=[path])
    assert (result.ok, result.text) == (False, answer)


def test_what_cannot_be_shown_is_explained(bench: Bench) -> None:
    bench.write("logo.png", b"\x89PNG\0\0")
    bench.write("big.log", b"x" * (LARGEST + 1))
    bench.write("empty", b"")
    bench.write("latin.txt", "caf\xe9\n".encode("latin-1"))
    bench.write("bom.txt", b"\xef\xbb\xbffirst\r\nsecond\r\n")
    assert bench.use(READ, paths=["logo.png"]).text == "logo.png is not text: it is a binary file of 6 bytes."
    assert bench.use(READ, paths=["big.log"]).text == (
        "big.log has 8,000,001 bytes, too many to read: search it instead."
    )
    assert bench.use(READ, paths=["empty"]).text == "empty is empty."
    latin = "latin.txt, 1 line (not UTF-8, shown as Latin-1):\ncafé"
    assert bench.use(READ, paths=["latin.txt"]).text == latin
    assert bench.use(READ, paths=["bom.txt"]).text == "first\nsecond"
    assert "at least" in bench.use(READ, paths=[]).text
    assert not bench.use(READ, paths=["empty", 3]).ok


def test_a_missing_file_gets_its_neighbours(bench: Bench) -> None:
    bench.write("src/kith/utils.py", "")
    bench.write("src/kith/core/loop.py", "")
    near = bench.use(READ, paths=["src/kith/util.py"])
    assert not near.ok
    assert near.text == "src/kith/util.py does not exist. Similar: src/kith/utils.py."
    moved = bench.use(READ, paths=["kith/loop.py"])
    assert moved.text == "kith/loop.py does not exist. Similar: src/kith/core/loop.py."
    assert bench.use(READ, paths=["qqq"]).text == "qqq does not exist."


def test_paths_outside_and_absolute_paths_are_refused(bench: Bench) -> None:
    bench.write("src/a.py", "")
    inside = bench.use(READ, paths=[str(bench.folder / "src" / "a.py")])
    assert not inside.ok and "'src/a.py'" in inside.text
    assert not bench.use(READ, paths=["/etc/passwd"]).ok
    assert not bench.use(READ, paths=["../x"]).ok
    (bench.folder / "link").symlink_to("/etc/passwd")
    assert not bench.use(READ, paths=["link"]).ok
    assert not bench.use(READ, paths=[".git/config"]).ok


def test_a_folder_is_listed(bench: Bench) -> None:
    bench.write("src/a.py", "")
    bench.write("src/b/c.py", "")
    assert bench.use(READ, paths=["src/"]).text == "src/a.py\nsrc/b/c.py"
    assert bench.use(READ, paths=["."]).text == "src/a.py\nsrc/b/c.py"
    assert bench.use(READ, paths=["src/*.py"]).text == "src/a.py"


def test_several_files_share_one_answer(bench: Bench) -> None:
    for name in "abcd":
        bench.write(name, f"{name * 20}\n" * 50)
    tool = make_read(ReadLimits(lines=250, bytes=600))
    result = bench.use(tool, paths=["a", "missing", "b", "c", "d"])
    assert result.ok and result.detail["line"] == "a b, not missing c d"
    assert result.text.endswith("This answer is full. Read these with another call: c, d.")
    assert len(result.text) < 2 * 600 + 400
    nothing = bench.use(tool, paths=["x1", "x2"])
    assert not nothing.ok and nothing.text.count("not exist") == 2


def test_names_with_control_characters_stay_on_one_line(bench: Bench) -> None:
    bench.write("a\nb\x1b.txt", "x\n")
    assert bench.use(LIST).text == "a\\nb\\u001b.txt"
    assert bench.use(READ, paths=["a\nb\x1b.txt:1-9"]).text.startswith("a\\nb\\u001b.txt, 1 line:")


# --- list ------------------------------------------------------------------------------------


def test_list_shows_what_is_not_ignored(bench: Bench) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.ts", "build/out.py"):
        bench.write(path, "")
    bench.write(".gitignore", "build/\n")
    assert bench.use(LIST).text == ".gitignore\na.py\nsrc/b.py\nsrc/deep/c.ts"
    assert bench.use(LIST, path="src").text == "src/b.py\nsrc/deep/c.ts"
    assert bench.use(LIST, path="src/b.py").text == "src/b.py"
    assert bench.use(LIST).detail["line"] == "4 files"
    assert bench.use(LIST, path="src").detail["line"] == "src, 2 files"


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("**/deep/*", ["src/deep/c.py", "src/deep/d.ts"]),
        ("*.{ts,tsx}", ["src/deep/d.ts"]),
        ("pages/[id].js", ["pages/[id].js"]),
        ("?.py", ["a.py", "src/b.py", "src/deep/c.py"]),
    ],
)
def test_globs(bench: Bench, glob: str, found: list[str]) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.ts", "pages/[id].js"):
        bench.write(path, "")
    assert bench.use(LIST, path=glob).text.split("\n") == found


def test_nothing_to_list_is_said(bench: Bench) -> None:
    assert "no files" in bench.use(LIST).text
    nothing = bench.use(READ, paths=["."])
    assert nothing.ok and "no files" in nothing.text
    bench.write("src/a.py", "")
    result = bench.use(LIST, path="srcs/a.py")
    assert (result.ok, result.text) == (
        False,
        "No files match 'srcs/a.py', ignored ones aside. Similar: src/a.py.",
    )
    for odd in ("*.rb", "[", "!x*", "{" * 40 + "a,b" + "}" * 40, "{a,b}" * 40 + "*"):
        assert not bench.use(LIST, path=odd).ok


def test_a_large_tree_is_drawn_together(bench: Bench) -> None:
    for folder in range(30):
        for name in range(10):
            bench.write(f"src/p{folder:02}/f{name}.py", "")
    bench.write("README.md", "")
    rows = bench.use(LIST).text.split("\n")
    assert rows[:2] == ["README.md", "src/p00/ (10 files)"] and len(rows) == 32
    assert rows[-1].startswith("[") and "folders" in rows[-1]
    assert bench.use(LIST, path="src/p07").text.split("\n")[0] == "src/p07/f0.py"


def test_a_long_folder_is_paged_through(bench: Bench) -> None:
    for name in range(LISTED + 50):
        bench.write(f"f{name:03}", "")
    rows = bench.use(LIST).text.split("\n")
    assert len(rows) == LISTED + 1
    assert rows[-1] == f"[50 entries left out: list with offset {LISTED}]"
    rest = bench.use(LIST, path="f*", offset=LISTED).text.split("\n")
    assert rows[:-1] + rest == [f"f{name:03}" for name in range(LISTED + 50)]
    assert not bench.use(LIST, offset=LISTED + 50).ok
