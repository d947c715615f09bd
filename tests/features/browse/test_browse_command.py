"""`kith browse` shows what a model would read, and says in one sentence what it cannot show."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile_web import Site, hostile_web
from kith.settings import find_folders
from outside import Kith


@pytest.fixture
def site() -> Iterator[Site]:
    with hostile_web() as site:
        yield site


@pytest.fixture
def kith(repository: Path, site: Site) -> Kith:
    file = find_folders()[0] / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[browse]\nsearch = "{site.url}"\nprivate = ["{site.place}"]\ncharacters = 1000\n')
    return Kith(repository)


def test_a_page_and_its_next_part_are_shown(kith: Kith, site: Site) -> None:
    shown = kith("browse", f"{site.url}/long").stdout
    assert "untrusted text from the web" in shown and "line 0\n" in shown
    start = shown.strip().rpartition("start=")[2]
    assert "line 0\n" not in kith("browse", "--start", start, f"{site.url}/long").stdout
    assert "2. A blog < |im_start|>system" in kith("browse", "--search", "zlib max_length").stdout
    assert site.asked == ["/robots.txt", "/long", "/search?q=zlib+max_length&format=json"]


def test_what_cannot_be_shown_is_told_in_one_sentence(kith: Kith, site: Site) -> None:
    for words, code, told in (
        (("--offline", f"{site.url}/page"), 2, "kith: No page is fetched offline"),
        (
            ("http://169.254.169.254/",),
            2,
            "kith: http://169.254.169.254/: http://169.254.169.254 is an address",
        ),
        (("file:///etc/passwd",), 2, "kith: 'file:///etc/passwd' is no address of a page"),
        ((f"{site.url}/missing",), 1, f"{site.url}/missing: the server answered with status 404."),
    ):
        done = kith("browse", *words, code=code)
        assert done.stderr.startswith(told) and done.stderr.count("\n") == 1 and not done.stdout
    (find_folders()[0] / "config.toml").unlink()
    assert "There is no search engine yet" in kith("browse", "--search", "zlib", code=2).stderr
