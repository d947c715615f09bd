"""The parts of a scan: the treemap, documents that foreign names cannot break, what is kept, and its crew."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.features.scan import survey as surveying
from kith.features.scan.document import as_markdown
from kith.features.scan.facts import FileFacts
from kith.features.scan.graph import Links, find_links
from kith.features.scan.picture import TreemapBox, draw, squarify
from kith.features.scan.report import Copied, History, HotSpot, LanguageSize, Report, Size, Survey
from kith.memory.caches import KeptScan, ScanStore
from kith.trees.bulk_read import stamp_files
from kith.view.document import code, visible

# --- pictures and documents ----------------------------------------------------------------------


@given(
    st.lists(st.floats(0.01, 1e6), max_size=30).map(lambda weights: sorted(weights, reverse=True)),
    st.floats(1, 2000),
    st.floats(1, 2000),
)
def test_a_treemap_fills_its_box_in_proportion(weights: list[float], width: float, height: float) -> None:
    boxes = squarify(weights, TreemapBox(10, 20, width, height))
    assert len(boxes) == len(weights)
    for weight, box in zip(weights, boxes, strict=True):
        assert box.area == pytest.approx(weight / sum(weights) * width * height, rel=1e-6)
        assert box.x >= 10 - 1e-6 and box.x + box.width <= 10 + width * (1 + 1e-6)
        assert box.y >= 20 - 1e-6 and box.y + box.height <= 20 + height * (1 + 1e-6)
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert min(across, down) < 1e-6 * max(width, height)


names = st.text(st.characters(exclude_characters="/"), min_size=1, max_size=12)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(paths, st.integers(1, 5_000), max_size=15), names)
def test_foreign_names_break_neither_picture_nor_markdown(sizes: dict[str, int], name: str) -> None:
    facts = {path: FileFacts("Python", lines) for path, lines in sorted(sizes.items())}
    spots = tuple(HotSpot(path, 1, 1, 1.0) for path in facts)
    report = Report(
        name, "", Size(len(facts), 1, 1), (LanguageSize("Python", 1, 1, 1, 0, 0),), history=History(spots)
    )
    ElementTree.fromstring(draw(report, Survey(list(facts), facts)))
    told = as_markdown(report)
    assert all(char.isprintable() or char == "\n" for char in told)
    assert len([line for line in told.split("\n") if line.startswith("|")]) >= (len(facts) > 0)


@given(st.text(max_size=20))
def test_a_name_in_markdown_stays_in_its_code(name: str) -> None:
    shown = code(name)
    assert "\n" not in shown and shown.isprintable()
    assert shown.startswith("`") and shown.endswith("`")
    assert visible(name).isprintable()
    assert "|" not in shown.replace("\\|", "")


def test_a_report_of_nothing_has_no_empty_tables() -> None:
    told = as_markdown(Report("x", "", Size(0, 0, 0), copied=Copied()))
    assert "| hot" not in told and "Not known: ." not in told


# --- what is kept --------------------------------------------------------------------------------


def test_the_store_keeps_replaces_and_forgets(tmp_path: Path) -> None:
    store = ScanStore(tmp_path, tmp_path)
    kept = KeptScan("a.py", (3, 4), b"d", "[]", b"p")
    store.put([kept, KeptScan("b.py", (1, 2), b"", "[]", b""), KeptScan("\udcff.py", (1, 1), b"", "[]", b"")])
    store.put([KeptScan("b.py", (9, 9), b"e", "[1]", b"")])
    store.forget(["nothing"])
    store.write_note("x", "old")
    store.write_note("x", "new")
    store.close()
    again = ScanStore(tmp_path, tmp_path)
    assert again.load() == {"a.py": kept, "b.py": KeptScan("b.py", (9, 9), b"e", "[1]", b"")}
    assert (again.note("x"), again.note("y")) == ("new", "")
    again.forget(["a.py", "b.py"])
    assert again.load() == {}
    assert ScanStore(tmp_path, tmp_path / "other").load() == {}


def test_where_the_disk_refuses_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "scan").write_text("a file where a folder should be")
    store = ScanStore(tmp_path, tmp_path)
    store.put([KeptScan("a.py", (3, 4), b"d", "[]", b"")])
    store.write_note("x", "y")
    assert store.load() == {} and store.note("x") == ""
    store.close()


class ScanCache(dict[str, str]):
    """Notes in memory, and how often something was written."""

    written = 0

    def note(self, name: str) -> str:
        return self.get(name, "")

    def write_note(self, name: str, text: str) -> None:
        self.written += 1
        self[name] = text


def links(facts: dict[str, FileFacts], notes: ScanCache) -> dict[str, Links]:
    return find_links(Survey(list(facts), facts), notes)


def test_links_are_found_again_only_for_what_changed() -> None:
    facts = {"a.py": FileFacts("Python", imports=("b",)), "b.py": FileFacts("Python")}
    notes = ScanCache()
    assert links(facts, notes) == {"a.py": (["b.py"], [])}
    assert links(facts, notes) == {"a.py": (["b.py"], [])}
    assert notes.written == 1
    changed = facts | {"b.py": FileFacts("Python", imports=("~a",))}
    assert links(changed, notes) == {"a.py": (["b.py"], []), "b.py": ([], ["a.py"])}
    assert links({"a.py": facts["a.py"]}, notes) == {}  # what it meant is gone
    notes["links "] = "no JSON"
    assert links(facts, notes) == {"a.py": (["b.py"], [])}


# --- the processes -------------------------------------------------------------------------------


def make_files(root: Path, number: int) -> None:
    for each in range(number):
        (root / f"m{each:03}.py").write_text(f"def f{each}(a):\n    return a or {each}\n")


def look(root: Path, store: ScanStore) -> tuple[Survey, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    names = sorted(path.name for path in root.iterdir())
    stamps = stamp_files(root, names)
    found = asyncio.run(surveying.survey(root, stamps, store, lambda done, count: told.append((done, count))))
    return found, told


@pytest.mark.slow
def test_many_files_are_looked_at_by_processes_and_known_ones_not_again(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    make_files(root, 200)
    for path in root.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    store = ScanStore(tmp_path / "cache", root)
    first, told = look(root, store)
    assert [each.functions for each in first.facts.values()] == [1] * 200
    assert told[-1] == (200, 200)
    store.put([KeptScan("m009.py", store.load()["m009.py"].stamp, b"x", "no facts", b"")])
    (root / "m007.py").write_text("x = 1\n")
    (root / "m008.py").unlink()
    again, told = look(root, store)
    assert told == [(2, 2)]  # the changed one, and the one whose facts were broken
    assert again.facts["m007.py"].functions == 0 and "m008.py" not in again.facts
    assert look(root, ScanStore(tmp_path / "elsewhere", root))[0].facts == again.facts


KILLER = """\
import os, sys, asyncio
from pathlib import Path
from kith.features.scan import survey as surveying
from kith.memory.caches import ScanStore
from kith.trees.bulk_read import stamp_files

find = surveying.find_facts

def find_facts(path, data):
    if b"kill me" in data:
        os._exit(9)
    return find(path, data)

surveying.find_facts = find_facts

if __name__ == "__main__":
    root = Path(sys.argv[1])
    names = sorted(path.name for path in root.iterdir())
    store = ScanStore(root.parent / "cache", root)
    found = asyncio.run(surveying.survey(root, stamp_files(root, names), store, lambda done, count: None))
    facts = found.facts
    print(sum(each.functions for each in facts.values()), facts["m070.py"].lines, len(facts))
"""


@pytest.mark.slow
def test_a_file_that_kills_its_parser_costs_only_itself(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    make_files(root, 100)
    (root / "m070.py").write_text("# kill me\n")
    (tmp_path / "killer.py").write_text(KILLER)
    done = subprocess.run(
        [sys.executable, tmp_path / "killer.py", root], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["99", "0", "100"], done.stderr
