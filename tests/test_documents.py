"""Check the documents: what they name is there, and their links lead somewhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from kith.core.feature import Feature
from places import ROOT

SOURCE: Final = ROOT / "src" / "kith"
PAGES: Final = sorted((ROOT / "docs" / "architecture").glob("*.md"))
CODE_PAGES: Final = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "features.md",
    *PAGES,
]
LINKED_PAGES: Final = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples" / "README.md",
]
# Packages whose page has another name than their folder.
FOLDERS: Final = {"libraries": "features"}
_FENCED: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PLACE: Final = re.compile(r"[\w./-]*\w(?:\.py|/)|[\w./-]+/[\w-]+\.md")
_NAME: Final = re.compile(r"[\w.]+(?:\(\))?")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")


def named(page: Path) -> Iterator[str]:
    """Code in the running text of a page."""
    for span in re.findall(r"`([^`\n]+)`", _FENCED.sub("", page.read_text(encoding="utf-8"))):
        if "NAME" not in span:
            yield from span.split()


def roots(page: Path) -> Iterator[Path]:
    """Folders in which a path of a page may begin: a page of a package names that package's files, too."""
    yield from (SOURCE, ROOT, ROOT / "examples" / "kith-todos" / "src")
    if page.parent.name == "architecture":
        yield SOURCE / FOLDERS.get(page.stem, page.stem)


@cache
def words_of_the_code() -> frozenset[str]:
    """Every word that the sources hold, tests and tools included."""
    files = (
        file for folder in ("src", "tests", "tools", "examples") for file in (ROOT / folder).rglob("*.py")
    )
    return frozenset(word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", CODE_PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    places = {each for each in named(page) if _PLACE.fullmatch(each)}
    assert [each for each in sorted(places) if not any((root / each).exists() for root in roots(page))] == []


@pytest.mark.parametrize("page", CODE_PAGES, ids=lambda page: page.stem)
def test_names_that_a_page_mentions_are_in_the_code(page: Path) -> None:
    dotted = (each.removesuffix("()") for each in named(page) if _NAME.fullmatch(each))
    names = {name for each in dotted if not each.endswith((".py", ".md")) for name in each.split(".")}
    looks_like_code = {each for each in names if "_" in each or re.search("[a-z][A-Z]|^[A-Z][a-z]", each)}
    assert sorted(looks_like_code - words_of_the_code()) == []


@pytest.mark.parametrize("page", LINKED_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    lost = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if ":" not in link and not (target.exists() and (not heading or heading in headings(target))):
            lost.append(link)
    assert lost == []


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "package", [each.name for each in SOURCE.iterdir() if len(list(each.glob("*.py"))) > 1]
)
def test_every_package_of_the_kernel_has_a_page(package: str) -> None:
    assert f"docs/architecture/{package}.md" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_page_on_features_lists_every_part_and_shows_the_example() -> None:
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    assert [name for name in Feature.__struct_fields__ if f"`{name}`" not in page] == []
    example = ROOT / "examples" / "kith-todos" / "src" / "kith_todos" / "__init__.py"
    assert example.read_text(encoding="utf-8").partition("\n\n")[2].strip() in page
