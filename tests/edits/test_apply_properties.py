"""Properties that hold for any content: what is made is applied, what is not meant is refused."""

import random
import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kith.core.values import Change
from kith.edits import (
    Create,
    Delete,
    EditError,
    Patch,
    Replace,
    Whole,
    find_edits,
    keep_hunks,
    make_changes,
    paths_of,
    replace_text,
    split_hunks,
    unified_diff,
)

LINES = st.sampled_from(
    [b"", b"a", b"b", b"  a", b"-- x", b"++ y", b"\xe9", b"\x0c", "\u2028".encode(), b"r\rs"]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n"])
ROWS = st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=12)
CONTENT = st.tuples(st.sampled_from([b"", b"\xef\xbb\xbf"]), ROWS, LINES).map(
    lambda t: t[0] + b"".join(t[1]) + t[2]
)


def apply(reply: str, files: dict[str, bytes | None]) -> dict[str, bytes | None]:
    edits = find_edits(reply, tuple(files))
    changes = make_changes(edits, {path: files.get(path) for path in paths_of(edits)})
    return files | {change.path: change.after for change in changes}


@settings(deadline=None)
@given(CONTENT, CONTENT)
def test_a_rendered_diff_applies_to_exactly_its_after(before: bytes, after: bytes) -> None:
    assume(before != after)
    diff = unified_diff(Change("src/a.txt", before, after))
    assert apply(diff, {"src/a.txt": before}) == {"src/a.txt": after}


@settings(deadline=None)
@given(CONTENT, st.booleans())
def test_new_and_deleted_files_go_both_ways(content: bytes, create: bool) -> None:
    change = Change("a b.txt", None, content)
    change = change if create else change.inverse
    assert apply(unified_diff(change), {"a b.txt": change.before}) == {"a b.txt": change.after}


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_a_diff_is_not_applied_twice(seed: int) -> None:
    rng = random.Random(seed)
    rows = [f"{number} {rng.choice(string.ascii_letters)}\n".encode() for number in range(40)]
    rng.shuffle(rows)
    before, after = rows[:30], rows[:30]
    for extra in rows[30 : 31 + seed % 5]:
        after = list(after)
        after.insert(rng.randrange(len(after) + 1), extra)
    change = Change("a.txt", b"".join(before), b"".join(after))
    once = apply(unified_diff(change), {"a.txt": change.before})
    with pytest.raises(EditError):
        apply(unified_diff(change), once)


@settings(deadline=None)
@given(CONTENT, CONTENT, st.sets(st.integers(0, 6)))
def test_what_is_kept_and_what_is_left_make_up_the_change(
    before: bytes, after: bytes, some: set[int]
) -> None:
    change = Change("a.txt", before, after)
    everything = set(range(len(split_hunks(change))))
    assert keep_hunks(change, everything) == change
    assert keep_hunks(change, ()).after == before
    kept = keep_hunks(change, some & everything)
    rest = keep_hunks(Change("a.txt", kept.after, after), range(len(everything)))
    assert rest.after == after
    assert len(split_hunks(kept)) <= len(some & everything)


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_a_replacement_touches_nothing_else(around: str, old: str, new: str) -> None:
    content = (around + "\n<" + old + ">\r\n" + around).encode("utf-8", "surrogatepass")
    try:
        result = replace_text(content, f"<{old}>", f"<{new}>", "a.txt")
    except EditError:
        return
    head = (around + "\n<").encode("utf-8", "surrogatepass")
    tail = (">\r\n" + around).encode("utf-8", "surrogatepass")
    assert result.startswith(head)
    assert result.endswith(tail)


PIECES = st.sampled_from(
    [
        "a.py", "x", "y", "", "```", "```py", "1 | x", "\x00", "\ud800",
        "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "------- SEARCH", "+++++++ REPLACE",
        ":start_line:1", "-------",
        "--- a/a.py", "+++ b/a.py", "/dev/null", "@@ -1,2 +1,2 @@", "@@", "@@ x", " x", "-x", "+y",
        "\\ No newline",
        "diff --git a/a.py b/a.py", "new file mode 100644", "rename from a.py", "rename to d.py",
        "*** Begin Patch", "*** Update File: a.py", "*** Add File: b.py", "*** Delete File: a.py",
        "*** Move to: c.py", "*** End of File", "*** End Patch",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=24), st.sampled_from([b"x\n", b"x\ny\nx\n", b"", b"\0"]))
def test_any_reply_gives_changes_or_a_letter(pieces: list[str], content: bytes) -> None:
    files: dict[str, bytes | None] = {"a.py": content}
    try:
        edits = find_edits("\n".join(pieces), ("a.py",))
        paths = paths_of(edits)
        changes = make_changes(edits, {path: files.get(path) for path in paths})
    except EditError as error:
        assert str(error).strip()
        return
    assert all(isinstance(edit, Create | Delete | Patch | Replace | Whole) for edit in edits)
    assert {change.path for change in changes} <= set(paths)
    assert all(change.before == files.get(change.path) for change in changes)
