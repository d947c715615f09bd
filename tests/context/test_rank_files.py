"""Which files come first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.rank_files import Signals, kind_of, rank
from steps import count_steps

FILES = (
    "README.md",
    "data/cache.json",
    "docs/cache.md",
    "src/app/cache.py",
    "src/app/config_loader.py",
    "src/app/main.py",
    "tests/test_cache.py",
)


def paths(task: str, signals: Signals | None = None) -> list[str]:
    return [scored.path for scored in rank(task, FILES, signals)]


def test_source_comes_before_tests_docs_and_data() -> None:
    found = paths("the cache is never emptied")
    assert found == ["src/app/cache.py", "tests/test_cache.py", "docs/cache.md", "data/cache.json"]


def test_tests_come_first_when_the_task_speaks_of_them() -> None:
    assert paths("write tests for the cache")[0] == "tests/test_cache.py"


def test_a_path_in_the_task_beats_everything() -> None:
    assert paths("cache: see src/app/main.py")[0] == "src/app/main.py"
    assert paths("cache: see main.py")[0] == "src/app/main.py"


def test_words_meet_in_other_forms_and_inside_longer_ones() -> None:
    assert paths("caching")[0] == "src/app/cache.py"
    assert paths("load the configuration")[0] == "src/app/config_loader.py"


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    files = [f"src/net/client_{n}.py" for n in range(50)] + ["src/net/frobnicate.py"]
    assert rank("frobnicate the client", files)[0].path == "src/net/frobnicate.py"


def test_recent_changes_and_hits_bring_a_file_in() -> None:
    task = "the cache is never emptied"
    assert "src/app/main.py" not in paths(task)
    assert "src/app/main.py" in paths(task, Signals(recent={"src/app/main.py": 5}))
    known = Signals(holds={"src/app/main.py": 40}, history={"src/app/main.py": 1.0})
    assert paths(task, known)[0] == "src/app/main.py"
    assert rank("x", FILES, Signals(holds={"gone.py": 3})) == ()


def test_a_ranking_tells_what_each_signal_adds() -> None:
    first = rank("the cache is never emptied", FILES, Signals(names={"src/app/cache.py": 2.0}))[0]
    assert first.path == "src/app/cache.py" and first.words == ("cach",) and not first.named
    assert first.parts["path"] > 0 and first.parts["names"] > 0 and first.parts.keys() == {"path", "names"}
    assert rank("mend src/app/cache.py", FILES)[0].named


def test_a_file_that_has_nothing_to_do_with_it_is_left_out() -> None:
    assert paths("frobnicate") == []
    assert rank("anything", ()) == ()


@pytest.mark.parametrize("secret", [".env", ".env.local", "deploy/server.pem", "home/id_rsa", ".npmrc"])
def test_secrets_are_never_listed(secret: str) -> None:
    assert kind_of(secret) == "secret"
    assert rank(f"read {secret}", [secret]) == ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/a.py", "source"),
        ("test_a.py", "test"),
        ("pkg/a_test.go", "test"),
        ("web/a.spec.ts", "test"),
        ("tests/helpers.py", "test"),
        ("src/contest.py", "source"),
        ("a.rst", "docs"),
        ("a.json", "data"),
        ("Makefile", "data"),
    ],
)
def test_kinds(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@given(st.text(max_size=80), st.lists(st.text(alphabet="abİß/._-", min_size=1, max_size=20), max_size=20))
def test_any_task_ranks_any_files_in_one_order(task: str, files: list[str]) -> None:
    found = rank(task, files)
    assert found == rank(task, list(reversed(files)))
    assert {scored.path for scored in found} <= set(files)


def test_the_work_of_ranking_grows_with_the_paths_and_no_faster() -> None:
    words = ("alpha", "bravo", "cargo", "delta", "event", "frame", "graph", "hotel", "index", "joker")
    files = sorted(
        f"src/{words[n % 10]}/{words[n // 10 % 10]}/{words[n // 100 % 10]}_{n}.py" for n in range(8_000)
    )
    task = "make the parser of the event queue read joker files, then fix graph_index"
    rank(task, files[::100])  # what is loaded and compiled at first does not count
    few = count_steps(lambda: rank(task, files[::4]))
    assert 0 < count_steps(lambda: rank(task, files)) < 5 * few
