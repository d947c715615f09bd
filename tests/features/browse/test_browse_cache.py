"""Pages are kept for a while, in files that only the person may read."""

import os
import stat
from pathlib import Path

from kith.features.browse.address import parse_address
from kith.features.browse.cache import Cache, Page


def page(number: int) -> Page:
    return Page(f"https://example.org/{number}", f"https://example.org/{number}", f"text {number}")


def test_a_page_is_found_until_it_is_old(tmp_path: Path) -> None:
    clock = [1_000.0]
    cache = Cache(tmp_path / "pages", lambda: clock[0])
    cache.keep(page(1))
    found = cache.find(parse_address("https://example.org/1"))
    assert found and found.text == "text 1"
    assert cache.find(parse_address("https://example.org/2")) is None
    clock[0] += 901
    assert cache.find(parse_address("https://example.org/1")) is None
    clock[0] = 0  # a clock that was set back makes nothing new
    assert cache.find(parse_address("https://example.org/1")) is None


def test_only_the_person_may_read_it_and_the_oldest_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "pages")
    for number in range(65):
        cache.keep(page(number))
    files = list((tmp_path / "pages").iterdir())
    assert len(files) == 60
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "pages").stat().st_mode) == 0o700


def test_old_pages_are_deleted_with_the_next_one(tmp_path: Path) -> None:
    Cache(tmp_path).keep(page(1))
    (old,) = tmp_path.iterdir()
    os.utime(old, (1_000, 1_000))
    Cache(tmp_path).keep(page(2))
    (new,) = tmp_path.iterdir()
    assert new != old


def test_each_project_has_its_own(tmp_path: Path) -> None:
    Cache.of(tmp_path, Path("/a")).keep(page(1))
    assert Cache.of(tmp_path, Path("/a")).find(parse_address("https://example.org/1"))
    assert Cache.of(tmp_path, Path("/b")).find(parse_address("https://example.org/1")) is None


def test_a_broken_file_and_a_full_disk_cost_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep(page(1))
    for file in tmp_path.iterdir():
        file.write_bytes(b"{")
    assert cache.find(parse_address("https://example.org/1")) is None
    (tmp_path / "file").touch()
    Cache(tmp_path / "file").keep(page(1))
