"""The uses of a name that a task wants changed: which name, which lines, and how many of them are shown."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.brief import brief
from kith.context.budget import estimate_tokens
from kith.context.find_lines import Hit
from kith.context.uses import USES, Uses, find_uses, names_to_change, show_uses
from tools_bench import Bench


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Rename the function `super_len` to `complex_len` in `utils.py`.", ["super_len"]),
        ("In class `TestCase`, rename the method `new_loop()` to `newLoop()` in testing.py", ["new_loop"]),
        ("rename mean to average", ["mean"]),
        ("Please rename foo_a to bar_a and foo_b to bar_b", ["foo_a", "foo_b"]),
        ("Please update the helper named `send_file` to `send_a_file`. The docs too.", ["send_file"]),
        ("Change the name of the class 'LookupDict' to 'DictLookup'", ["LookupDict"]),
        ("`load_all` should be renamed to `read_all`", ["load_all"]),
        ("Move 'LOCALE_NAMES' into 'locale.py', and eliminate 'data.py'.", ["LOCALE_NAMES", "data.py"]),
        ("Remove the 'hooks.py' file from 'src/requests'", ["hooks.py"]),
        ("Get rid of `Cache.get_all()`", ["get_all"]),
        ("Modify 'get_flag' to take a new boolean parameter named 'log'", ["get_flag"]),
        ("Remove the `verbose` argument of load_all()", ["load_all"]),
        ("Make sure all existing calls to 'get_flag' pass log=True", ["get_flag"]),
        ("The signature of parse_date changes: it returns a tuple.", ["parse_date"]),
        ("parse_date returns the wrong year", []),
        ("Strip the trailing blanks in parse_line()", []),
        ("Remove trailing blanks in parse_line()", []),
        ("parse_args fails with a KeyError: 'name' is removed twice", []),
        ("rename it to that", []),
        ("rename the variable `n` to `number`", []),
        ("hi", []),
    ],
)
def test_names_whose_uses_a_task_is_about(task: str, names: list[str]) -> None:
    assert list(names_to_change(task)) == names


@pytest.fixture
def tree(tmp_path: Path) -> Bench:
    """A small project that uses `mean`, and `hooks.py`, in several places."""
    (tmp_path / "tree").mkdir()
    bench = Bench(tmp_path / "tree", tmp_path / "state")
    bench.use_git("init", "-q")
    bench.write(".gitignore", "build/\n")
    bench.write("README.md", "Call mean(1, 2).\n")
    bench.write("app.py", "from stats import mean, meaning\nimport hooks\n\nprint(mean([1]))\n")
    bench.write("build/out.py", "mean\n")
    bench.write("hooks.py", "def hook():\n    return stats.mean\n")
    comment = "# the mean, which is what most people call the average"
    bench.write("stats.py", f"import math\n{comment}\n\ndef mean(numbers):\n    return sum(numbers)\n")
    bench.write("test_stats.py", "from stats import mean\n\nassert mean([1]) == 1\n")
    bench.write(".env", "mean=1\n")
    return bench


def uses_of(bench: Bench, task: str) -> Uses:
    async def look() -> Uses:
        return await find_uses(bench.run, task, await bench.run.workspace.files())

    return asyncio.run(look())


def test_every_line_with_a_name_is_found_definitions_first(tree: Bench) -> None:
    uses = uses_of(tree, "rename mean() to average()")
    assert (uses.names, uses.whole) == (("mean",), True)
    assert [f"{hit.path}:{hit.line}" for hit in uses.hits] == [
        *("stats.py:2", "stats.py:4", "app.py:1", "app.py:4", "hooks.py:2"),
        *("test_stats.py:1", "test_stats.py:3", "README.md:1"),
    ]


def test_a_file_that_moves_is_used_where_it_is_imported(tree: Bench) -> None:
    uses = uses_of(tree, "Move hooks.py into stats.py")
    assert [f"{hit.path}:{hit.line}: {hit.text}" for hit in uses.hits] == ["app.py:2: import hooks"]
    assert not uses_of(tree, "Remove nothing.py").hits


def test_a_word_of_every_file_is_left_out_unless_it_is_defined(tree: Bench) -> None:
    tree.write("data.py", "color()\n" * 401)
    assert not uses_of(tree, "Remove 'color' from the form").hits
    tree.write("form.py", "def color():\n    pass\n")
    assert len(uses_of(tree, "Remove 'color' from the form").hits) == 402


def test_a_task_of_another_kind_starts_no_search(tree: Bench) -> None:
    tree.path = "/nowhere"
    assert uses_of(tree, "mean() is wrong") == Uses()
    assert uses_of(tree, "rename mean() to average()").hits  # without any engine


def test_the_lines_stand_below_their_files(tree: Bench) -> None:
    assert show_uses(uses_of(tree, "rename mean() to average()"), 500) == (
        f"{USES} (mean: all 8 lines)\n"
        "stats.py\n2: # the mean, which is what most people call the average\n4: def mean(numbers):\n"
        "app.py\n1: from stats import mean, meaning\n4: print(mean([1]))\n"
        "hooks.py\n2:     return stats.mean\n"
        "test_stats.py\n1: from stats import mean\n3: assert mean([1]) == 1\n"
        "README.md\n1: Call mean(1, 2)."
    )


def test_with_little_room_definitions_stay_and_the_rest_is_counted(tree: Bench) -> None:
    uses = uses_of(tree, "rename mean() to average()")
    assert show_uses(uses, 55).split("\n") == [
        *(f"{USES} (mean: 8 lines, 1 shown)", "stats.py (2 lines)", "4: def mean(numbers):"),
        "... 6 lines in 4 more files",
    ]
    assert show_uses(uses, 25) == ""


def test_lines_of_a_file_that_follows_whole_are_not_repeated(tree: Bench) -> None:
    shown = asyncio.run(brief(tree.run, "rename mean() in stats.py to average()", 1000))
    assert f"{USES} (mean: all 8 lines, 2 below)\napp.py\n1: " in shown
    assert "\nstats.py\n```\n" in shown and "4: def mean" not in shown


HITS = st.lists(
    st.builds(Hit, st.sampled_from(["a.py", "src/b.py", "c.md"]), st.integers(1, 999), st.text(max_size=300)),
    max_size=40,
)


@given(HITS, st.integers(0, 600), st.booleans())
def test_the_room_is_never_exceeded(hits: list[Hit], room: int, whole: bool) -> None:
    hits.sort(key=lambda hit: (hit.path, hit.line))
    assert estimate_tokens(show_uses(Uses(("mean",), tuple(hits), whole), room)) <= room


def test_the_first_message_holds_them_within_its_budget(tree: Bench) -> None:
    for budget in (100, 300, 1000):
        shown = asyncio.run(brief(tree.run, "rename mean() to average()", budget))
        assert estimate_tokens(shown) <= budget
        assert f"\n\n{USES} (mean: " in shown
    assert USES not in asyncio.run(brief(tree.run, "mean() is wrong", 1000))
