"""The index of a project: what it answers, and that it is always what a new one would be."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing import contents, fresh, update, write, write_many
from kith.context.rank_files import Signals
from kith.context.task_words import find_words
from kith.core.errors import KithError
from kith.core.git import Commit
from kith.memory.index import Index, Refreshed, open_index, refresh
from kith.trees.local import open_tree
from places import SUPPORT
from waiting import until

CACHE = """\
LIMIT = 3

class Cache:
    def get(self, key):
        return self.load(key)
"""
STORE = "class Store:\n    def get(self):\n        return Cache().get(LIMIT) or Cache\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, "src/cache.py", CACHE)
    write(folder, "src/store.py", STORE)
    write(folder, "README.md", "# Cache\n")
    write(folder, ".env", "TOKEN=Cache\n")
    return folder


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Index:
    opened = open_index(tmp_path / "cache", root)
    update(opened, root, tmp_path / "cache")
    return opened


def test_names_are_found_with_their_places_and_users(index: Index) -> None:
    found = index.find("Cache.get")
    (get,) = found.definitions
    assert (get.path, get.first, get.last, get.sort) == ("src/cache.py", 4, 5, "method")
    assert get.signature == "def get(self, key)"
    assert found.users == (("src/store.py", 2), ("src/cache.py", 1)) and not found.near
    assert [each.name for each in index.find("get").definitions] == ["Cache.get", "Store.get"]
    assert [each.path for each in index.find("limit").definitions] == ["src/cache.py"]


def test_a_name_that_is_not_there_has_neighbours(index: Index) -> None:
    found = index.find("Cashe")
    assert not found.definitions and found.near[0] == "Cache" and not found.users
    assert index.find("load").users == (("src/cache.py", 1),)
    assert index.find('"; DROP').definitions == ()


def test_files_fit_by_the_words_and_the_names_of_a_task(index: Index) -> None:
    fitting = index.fitting(find_words("the cache's limit is too low when loading"))
    assert fitting.names["src/cache.py"] > fitting.names["src/store.py"] > 0
    named = index.fitting(find_words("`LIMIT` must be 4"))
    assert named.defines == {"src/cache.py": 1.0} and named.holds.keys() == {"src/cache.py", "src/store.py"}
    assert index.fitting(find_words("")) == Signals()


def test_comments_and_strings_say_what_a_file_is_about(index: Index, root: Path, tmp_path: Path) -> None:
    write(root, "src/units.py", 'def convert(x):\n    """Celsius to kelvin."""\n    return x + 273.15\n')
    update(index, root, tmp_path / "cache")
    assert list(index.fitting(find_words("celsius is off by one")).said) == ["src/units.py"]


def test_commits_with_similar_messages_point_at_files(index: Index, root: Path, tmp_path: Path) -> None:
    def commit(path: str, message: str) -> None:
        write(root, path, message)
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *author, "commit", "-qm", message], cwd=root, check=True)

    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit("src/first.py", "Begin")
    commit("src/units.py", "Round temperatures")
    commit("src/other.py", "Speed up start")
    update(index, root, tmp_path / "cache")
    told = index.fitting(find_words("temperatures are rounded wrongly"))
    assert list(told.history) == ["src/units.py"]
    assert told.recent["src/other.py"] > told.recent["src/units.py"] > 0
    subprocess.run(["git", "reset", "-q", "--hard", "HEAD~1"], cwd=root, check=True)
    update(index, root, tmp_path / "cache")
    assert "src/other.py" not in index.fitting(find_words("temperatures")).recent


def test_secrets_and_documents_are_counted_and_not_looked_into(index: Index) -> None:
    assert {path: row.definitions for path, row in index.files().items()} == {
        ".env": 0,
        "README.md": 0,
        "src/cache.py": 3,
        "src/store.py": 2,
    }
    assert "TOKEN" not in index.path.read_bytes().decode("latin-1")


def test_only_what_differs_is_looked_at_again(index: Index, root: Path, tmp_path: Path) -> None:
    def again() -> Refreshed:
        return update(index, root, tmp_path / "cache")

    assert again() == Refreshed()
    write(root, "src/cache.py", CACHE.replace("LIMIT", "BOUND"))
    write(root, "new.py", "x = 1\n")
    (root / "README.md").unlink()
    os.utime(root / "src/store.py", (1, 1))
    assert again() == Refreshed(("new.py",), ("src/cache.py",), ("README.md",))
    assert index.find("BOUND").definitions and not index.find("LIMIT").definitions
    assert again() == Refreshed()


def test_a_change_within_the_clock_s_tick_is_seen(index: Index, root: Path, tmp_path: Path) -> None:
    soon = time.time_ns() + 3_600 * 10**9  # however long a busy machine takes until it looks
    os.utime(root / "src/cache.py", ns=(soon, soon))
    assert update(index, root, tmp_path / "cache") == Refreshed()
    write(root, "src/cache.py", CACHE.replace("LIMIT", "BOUND"))
    os.utime(root / "src/cache.py", ns=(soon, soon))
    assert update(index, root, tmp_path / "cache").changed == ("src/cache.py",)


TEXTS = st.sampled_from(["", CACHE, STORE, "def f(:\n", "x = y = get\n", "int main() { return get(); }\n"])
EDITS = st.lists(
    st.dictionaries(st.sampled_from(["a.py", "b/c.py", "b/d.cpp", "e.md"]), TEXTS | st.none(), max_size=4),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(EDITS)
def test_an_updated_index_is_what_a_new_one_would_be(edits: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder) / "tree", Path(folder) / "cache"
        root.mkdir()
        index = open_index(cache, root)
        for edit in edits:
            for path, text in edit.items():
                if text is None:
                    (root / path).unlink(missing_ok=True)
                else:
                    write(root, path, text)
            update(index, root, cache)
        assert contents(index) == fresh(root, Path(folder) / "other")
        index.close()


# --- crashes, crowds and damage ------------------------------------------------------------------


def start(*args: object) -> subprocess.Popen[bytes]:
    here = SUPPORT / "indexing.py"
    return subprocess.Popen([sys.executable, here, *map(str, args)], start_new_session=True)


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
def test_after_kill_9_the_next_update_goes_on(tmp_path: Path) -> None:
    root, cache = tmp_path / "tree", tmp_path / "cache"
    write_many(root, 120)
    killed = start(root, cache, 64)
    assert killed.wait(timeout=60) == -9
    index = open_index(cache, root)
    assert not index.complete and not index.note
    there = len(index.files())
    assert 64 <= there < 120
    assert len(update(index, root, cache).added) == 120 - there
    assert index.complete and contents(index) == fresh(root, tmp_path / "other")
    until(lambda: group_is_gone(killed.pid), "a worker outlived its parent")


@pytest.mark.slow
def test_a_worker_that_dies_takes_no_file_with_it(tmp_path: Path) -> None:
    root, cache = tmp_path / "tree", tmp_path / "cache"
    write_many(root, 100)
    killed = list[int]()

    def tell(done: int, count: int) -> None:
        if not killed:
            killed.extend(each.pid or 0 for each in multiprocessing.active_children()[:1])
            os.kill(killed[0], signal.SIGKILL)

    index = open_index(cache, root)
    asyncio.run(refresh(index, open_tree(root, cache / "state", cache), tell))
    assert killed and contents(index) == fresh(root, tmp_path / "other")


@pytest.mark.slow
def test_two_at_once_make_the_same_index(tmp_path: Path) -> None:
    root, cache = tmp_path / "tree", tmp_path / "cache"
    write_many(root, 100)
    assert [each.wait(timeout=60) for each in (start(root, cache), start(root, cache))] == [0, 0]
    index = open_index(cache, root)
    assert index.complete and contents(index) == fresh(root, tmp_path / "other")


def test_two_that_met_the_same_commits_keep_them_once(root: Path, tmp_path: Path) -> None:
    first, second = (open_index(tmp_path / "cache", root) for _ in range(2))
    seen = [Commit("a" * 40, 1, "Cache the answers", ("cache.py",))]
    for index in (first, second):
        index.put_commits([each.name for each in seen], seen)
    assert second.commit_names() == {"a" * 40}


def overwrite(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"garbage!" * 512)


@pytest.mark.parametrize("at", [0, 4096])
def test_a_broken_index_is_made_anew_and_that_is_said(
    index: Index, root: Path, tmp_path: Path, at: int
) -> None:
    before = contents(index)
    index.close()  # writes what is in its journal
    overwrite(index.path, at)
    again = open_index(tmp_path / "cache", root)
    update(again, root, tmp_path / "cache")
    assert "Rebuilding" in again.note and contents(again) == before


def test_an_index_that_breaks_while_it_is_open_answers_nothing_and_recovers(
    index: Index, root: Path, tmp_path: Path
) -> None:
    before = contents(index)
    index.close()
    index = open_index(tmp_path / "cache", root)
    index.path.write_bytes(b"no database at all" * 1000)
    assert index.find("Cache").definitions == () and "Rebuilding" in index.note
    update(index, root, tmp_path / "cache")
    assert contents(index) == before


def test_the_index_of_another_version_is_made_anew(index: Index, root: Path, tmp_path: Path) -> None:
    before = contents(index)
    index.close()
    with sqlite3.connect(index.path) as database:
        database.execute("PRAGMA user_version=999")
    again = open_index(tmp_path / "cache", root)
    assert not again.complete
    update(again, root, tmp_path / "cache")
    assert contents(again) == before


def test_a_cache_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(KithError, match="written"):
        open_index(tmp_path / "cache", tmp_path)


def test_each_folder_has_its_own_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    one, other = (open_index(tmp_path / "cache", tmp_path / name) for name in "ab")
    assert one.path != other.path and one.path == open_index(tmp_path / "cache", tmp_path / "b/../a").path
    assert one.path.stat().st_mode & 0o077 == 0
