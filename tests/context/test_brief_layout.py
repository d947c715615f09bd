"""The shape of a tree in a few lines."""

from hypothesis import given
from hypothesis import strategies as st

from kith.context.brief import show_layout
from kith.context.budget import estimate_tokens


def test_a_small_tree_is_listed() -> None:
    files = ["README.md", "src/a.py", "src/b/c.py", "src/b/d.py"]
    assert show_layout(files, 500).split("\n") == files


def test_folders_stay_closed_where_there_is_no_room() -> None:
    files = sorted(["README.md", *(f"src/m{n}.py" for n in range(100)), "tests/a.py", "tests/b.py"])
    assert show_layout(files, 30).split("\n") == ["README.md", "src/ (100 files)", "tests/a.py", "tests/b.py"]


def test_sources_are_listed_before_more_files_of_other_kinds() -> None:
    files = sorted(
        [
            *(f"docs/page{n}.rst" for n in range(9)),
            *(f"pkg/part{n}.py" for n in range(6)),
            "tests/x/test_a.py",
        ]
    )
    shown = show_layout(files, 80).split("\n")
    assert shown == [*files[:3], "docs/... (6 more files)", *files[9:]]


def test_a_single_crowded_folder_shows_its_first_entries() -> None:
    files = [f"src/pkg/m{n:03}.py" for n in range(60)]
    assert show_layout(files, 40).split("\n") == [*files[:3], "src/pkg/... (57 more files)"]


def test_a_crowded_top_is_counted() -> None:
    shown = show_layout(sorted(f"{n:03}.txt" for n in range(300)), 60)
    assert shown.startswith("000.txt\n") and shown.endswith(" more")


NAMES = st.text(alphabet="ab0-. ", min_size=1, max_size=4)
TREES = st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=40)


@given(TREES, st.integers(0, 300))
def test_every_file_is_counted_once_and_the_room_is_kept(tree: set[str], room: int) -> None:
    # A path is a file or a folder, never both.
    files = sorted(path for path in tree if not any(other.startswith(path + "/") for other in tree))
    shown = show_layout(files, room)
    assert estimate_tokens(shown) <= room
    lines = shown.split("\n") if shown else []
    if lines and not lines[-1].endswith(" more"):
        closed = [line.rpartition(" (") for line in lines if line.endswith((" files)", " file)"))]
        counted = sum(int(count.split()[0]) for _, _, count in closed)
        assert counted + len(lines) - len(closed) == len(files)
