"""Where caches lie, and that those of folders that are gone go too when a new one is begun."""

import os
from pathlib import Path

import pytest

from kith.memory.caches import KeptScan, ScanStore, find_place, is_storable, settle
from kith.memory.index import open_index


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_caches_of_folders_that_are_gone_are_removed_when_another_is_begun(tmp_path: Path) -> None:
    cache, roots = (
        tmp_path / "cache",
        [tmp_path / "stays", tmp_path / os.fsdecode(b"go\xe9s"), tmp_path / "new"],
    )
    for root in roots:
        root.mkdir()
    stays, goes = (open_index(cache, root) for root in roots[:2])  # both are open: their journals lie there
    other = cache / "index" / "notes.txt"
    other.write_text("nobody's")
    roots[1].rmdir()
    open_index(cache, roots[0]).close()
    assert goes.path.exists(), "nothing is searched for an index that is there"
    new = open_index(cache, roots[2])
    assert stays.path.exists() and new.path.exists() and other.exists()
    assert not [name for name in names(cache / "index") if name.startswith(goes.path.stem)]


def test_scans_go_the_same_way(tmp_path: Path) -> None:
    gone, here = tmp_path / "gone", tmp_path / "here"
    gone.mkdir()
    store = ScanStore(tmp_path, gone)
    store.put([KeptScan("a.py", (3, 4), b"d", "[]", b"")])
    store.close()
    gone.rmdir()
    here.write_text("a file now")  # is no reason to think that it is gone
    ScanStore(tmp_path, here).close()
    assert len([*(tmp_path / "scan").glob("*.sqlite3")]) == 1
    here.unlink()
    ScanStore(tmp_path, gone).close()
    gone.mkdir()
    assert ScanStore(tmp_path, gone).load() == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_a_folder_that_may_not_be_looked_at_is_not_gone(tmp_path: Path) -> None:
    root = tmp_path / "closed" / "project"
    root.mkdir(parents=True)
    place = find_place(tmp_path / "cache", "index", root)
    place.touch()
    (tmp_path / "closed").chmod(0)
    try:
        find_place(tmp_path / "cache", "index", tmp_path)
        assert place.exists()
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_file_that_was_just_written_is_looked_at_again() -> None:
    now = 5_000_000_000
    assert settle((7, now - 3_000_000_000), now) == (7, now - 3_000_000_000)
    assert settle((7, now - 1_000_000_000), now) == settle((7, now + 1), now) == (7, 0)


def test_names_that_are_no_unicode_are_told() -> None:
    assert is_storable("café.py") and not is_storable(os.fsdecode(b"caf\xe9.py"))
