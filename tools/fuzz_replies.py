"""Replies in every form that the edit engine reads, and what may happen to them on the way."""

import json
import random
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import context_diff
from pathlib import Path
from typing import Any, Final

from kith.core.values import Change
from kith.edits import unified_diff

Files = dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Case:
    """A mutated reply, the files it is about, and what the engine is told besides."""

    reply: str
    files: Files
    known: Collection[str]
    finish_reason: str = "stop"


PATHS = ("a.py", "src/b.py", "src/deep/c.cpp", "d e.txt", "docs/f.md", "Makefile", "no.txt")
STATEMENTS = (
    "x = 1", "return x", "def f(a, b):", "    return a + b", "if x:", "    pass", "}", "{", "", "", "    ",
    "# a",
    "-- x", "++ y", "* item", "import os", "for i in range(3):", "        print(i)", "\tindented by a tab",
    "=======", "```", "Heading", "@@ -1 +1 @@", "é", "日本", "a\x0cb", "a\u2028b", "a\x85b", "r\rs",
    "caf\udce9", "'''",
)  # fmt: skip
MARKERS = (
    "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "------- SEARCH", "+++++++ REPLACE", ":start_line:2",
    "-------",
    "--- a/a.py", "+++ b/a.py", "--- a/a.py\t1970-01-01 00:00:00.000000000 +0000",
    "+++ b/a.py 2026-99-99 99:99:99 +9999",
    "--- /dev/null", "+++ /dev/null", "@@ -1,2 +1,2 @@", "@@ -0,0 +1 @@", "@@", "@@ ... @@",
    "@@ def f(a, b):", "\\ No newline at end of file", "diff --git a/a.py b/a.py",
    "diff --git a/a.py b/src/b.py",
    "new file mode 100644", "deleted file mode 100644", "old mode 100644", "new mode 100755",
    "rename from a.py",
    "rename to b.py", "copy from a.py", "index 1234567..89abcde 100644", "GIT binary patch",
    "*** Begin Patch", "*** End Patch", "*** Update File: a.py", "*** Add File: new.py",
    "*** Delete File: a.py",
    "*** Move to: moved.py", "*** End of File", "```", "````", "~~~", "```python", "```diff", "a.py",
    "src/b.py",
    "../x.py", ".git/config", "/etc/passwd", "C:\\x", '--- "a/\\303\\251"', "# ... rest of the code",
    "</file>",
)  # fmt: skip
ODD = "\0\r\t \\\"'`~@+-*=<>/.:|,0\ufeff\u2028\u0085\x0b\x0c\x1b\u202e\ud800\udcff😀é\n\n"


def make_case(seed: int, number: int, seeds: Sequence[str] = ()) -> Case:
    """The case of a number: the same for the same seed."""
    rng = random.Random(f"{seed}:{number}")
    files, wanted = _files(rng), Files()
    for path in rng.sample(list(files), min(len(files), rng.randrange(1, 3))):
        wanted[path] = _changed(rng, files[path] or b"")
    reply = rng.choice(seeds) if seeds and rng.random() < 0.7 else _reply(rng, files, wanted)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4, 8))):
        reply = rng.choice(MUTATIONS)(rng, reply)
    known = rng.choice((tuple(files), tuple(wanted), (), tuple(files)[:1]))
    return Case(reply, files, known, "length" if rng.random() < 0.05 else "stop")


def read_seeds(folder: Path) -> list[str]:
    """All files of a folder as replies."""
    return [
        path.read_text("utf-8", "surrogateescape") for path in sorted(folder.rglob("*")) if path.is_file()
    ]


def _files(rng: random.Random) -> Files:
    """A few files; some have carriage returns, a mark, bytes of no encoding, no end, or nothing."""
    files: Files = {}
    for path in rng.sample(PATHS[:-1], rng.randrange(1, 4)):
        rows = [rng.choice(STATEMENTS) + rng.choice(("", "", f" {n}")) for n in range(rng.randrange(40))]
        end = rng.choice(("\n", "\n", "\n", "\r\n"))
        ends = [rng.choice(("\n", "\r\n")) if rng.random() < 0.1 else end for _ in rows]
        text = rng.choice(("", "", "", "\ufeff")) + "".join(map("".join, zip(rows, ends, strict=True)))
        text = text if rng.random() < 0.8 else text.rstrip("\r\n")
        files[path] = text.encode("utf-8", "surrogateescape")
    return files


def _changed(rng: random.Random, content: bytes) -> bytes:
    """The same content with a few rows added, removed or changed."""
    rows = content.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(rows))
        count = rng.randrange(3)
        rows[at : at + count] = [rng.choice(STATEMENTS) for _ in range(rng.randrange(3))]
        rows = rows or [""]
    return "\n".join(rows).encode("utf-8", "surrogateescape")


def _reply(rng: random.Random, files: Files, wanted: Files) -> str:
    """A reply that asks for those contents, in some form, perhaps with prose and fences around."""
    if rng.random() < 0.2:
        return _arguments(rng, files, wanted)
    form = rng.choice(FORMS)
    parts = [form(rng, path, files[path] or b"", content or b"") for path, content in wanted.items()]
    fence = rng.choice(("", "", "```\n", "```diff\n"))
    body = "\n".join(fence + part + ("```\n" if fence else "") for part in parts)
    return rng.choice(("", "I changed it.\n\n", "Here is `a.py`:\n")) + body + rng.choice(("", "\nDone.\n"))


def _diff(rng: random.Random, path: str, before: bytes, after: bytes) -> str:
    """A diff, as git prints it or with headers as careless as those of models."""
    if rng.random() < 0.1:
        sides = [side.decode("utf-8", "surrogateescape").split("\n") for side in (before, after)]
        return "".join(f"{row}\n" for row in context_diff(*sides, path, path, lineterm=""))
    text = unified_diff(Change(path, before, after))
    if rng.random() < 0.3:
        text = re.sub(r"^(?:diff --git|index) .*\n", "", text, flags=re.M)
    if rng.random() < 0.3:
        bare = rng.choice(("@@", "@@ ... @@", "@@ -1,1 +1,1 @@", "@@ -1 +1 @@"))
        text = re.sub(r"^@@ .* @@$", bare, text, flags=re.M)
    return text


def _pieces(before: bytes, after: bytes) -> list[tuple[list[str], list[str]]]:
    """The old and the new lines of each piece of the change, with some context."""
    diff = unified_diff(Change("a", before, after))
    pieces = []
    for hunk in re.split(r"^@@ .*\n", diff, flags=re.M)[1:]:
        lines = [line for line in hunk.removesuffix("\n").split("\n") if not line.startswith("\\")]
        pieces.append(
            (
                [line[1:] for line in lines if line[:1] in " -"],
                [line[1:] for line in lines if line[:1] in " +"],
            )
        )
    return pieces


def _blocks(rng: random.Random, path: str, before: bytes, after: bytes) -> str:
    """Search/replace blocks in one of their dialects."""
    head, end = rng.choice(
        (
            ("<<<<<<< SEARCH", ">>>>>>> REPLACE"),
            ("------- SEARCH", "+++++++ REPLACE"),
            ("<<<< SEARCH", ">>>> REPLACE"),
        )
    )
    hint = ":start_line:1\n-------\n" if rng.random() < 0.2 else ""
    blocks = [
        f"{head}\n{hint}" + "".join(line + "\n" for line in (*old, "=======", *new, end))
        for old, new in _pieces(before, after)
    ]
    return f"{path}\n" + "\n".join(blocks)


def _patch(rng: random.Random, path: str, before: bytes, after: bytes) -> str:
    """The `*** Begin Patch` form."""
    diff = unified_diff(Change(path, before, after))
    hunks = re.sub(
        r"^@@ .*$", rng.choice(("@@", "@@ x = 1")), diff[max(0, diff.find("\n@@") + 1) :], flags=re.M
    )
    hunks = hunks.replace("\\ No newline at end of file\n", rng.choice(("", "*** End of File\n")))
    extra = rng.choice(("", "", "*** Add File: new/n.py\n+x\n", "*** Delete File: docs/f.md\n"))
    return f"*** Begin Patch\n*** Update File: {path}\n{hunks}{extra}*** End Patch\n"


def _whole(rng: random.Random, path: str, before: bytes, after: bytes) -> str:
    """A file name and the whole new content in a fence."""
    fence = rng.choice(("```", "````", "~~~"))
    text = after.decode("utf-8", "surrogateescape")
    return f"{rng.choice(('', '### ', '**'))}{path}\n{fence}{rng.choice(('', 'python'))}\n{text}\n{fence}\n"


def _arguments(rng: random.Random, files: Files, wanted: Files) -> str:
    """The arguments of edit tools as JSON, under the names that different agents give them."""
    value: Any = [_call(rng, path, files[path] or b"", content or b"") for path, content in wanted.items()]
    value = value[0] if len(value) == 1 and rng.random() < 0.8 else value
    if rng.random() < 0.1:
        value = {"tool_calls": [{"function": {"name": "edit", "arguments": json.dumps(value)}}]}
    text = json.dumps(value, ensure_ascii=rng.random() < 0.3, indent=rng.choice((None, None, 1)))
    return f"```json\n{text}\n```" if rng.random() < 0.1 else text


def _call(rng: random.Random, path: str, before: bytes, after: bytes) -> dict[str, Any]:
    """The arguments of one call, which sometimes say something a little different."""
    pieces = [(_slip(rng, old), _slip(rng, new)) for old, new in _pieces(before, after)] or [([""], [])]
    old, new = ("\n".join(lines) + rng.choice(("", "\n")) for lines in rng.choice(pieces))
    texts = [{"old_text": "\n".join(old), "new_text": "\n".join(new)} for old, new in pieces]
    chunks = [{"oldLines": old, "newLines": new, "isEndOfFile": rng.random() < 0.2} for old, new in pieces]
    line = rng.randrange(-1, before.count(b"\n") + 3)
    some = rng.choice(STATEMENTS)
    return rng.choice(
        (
            {"command": "str_replace", "path": path, "old_str": old, "new_str": new},
            {"file_path": path, "old_string": some, "new_string": new, "replace_all": rng.random() < 0.7},
            {"path": path, "edits": texts},
            {"command": "insert", "path": path, "insert_line": line, "insert_text": new},
            {"path": path, "insert_line": line, "new_text": new},
            {"filePath": path, "content": after.decode("utf-8", "surrogateescape")},
            {"path": path, "chunks": [{"changeContext": some}, *chunks] if rng.random() < 0.1 else chunks},
            {"patch": rng.choice((_diff, _patch, _blocks))(rng, path, before, after)},
        )
    )


def _slip(rng: random.Random, lines: list[str]) -> list[str]:
    """The lines, now and then mutated as a reply would be."""
    if rng.random() < 0.7:
        return lines
    return rng.choice(MUTATIONS)(rng, "\n".join(lines)).split("\n")


Form = Callable[[random.Random, str, bytes, bytes], str]
FORMS: Final[tuple[Form, ...]] = (_diff, _blocks, _patch, _whole)


def _lines(change: Callable[[random.Random, list[str], int], None]) -> Callable[[random.Random, str], str]:
    """A mutation of lines, at some line, as one of text."""

    def mutate(rng: random.Random, text: str) -> str:
        lines = text.split("\n")
        change(rng, lines, rng.randrange(len(lines)))
        return "\n".join(lines)

    return mutate


def _drop(rng: random.Random, lines: list[str], at: int) -> None:
    del lines[at : at + rng.choice((1, 1, 2, 5))]


def _double(rng: random.Random, lines: list[str], at: int) -> None:
    piece = lines[at : at + rng.choice((1, 2, 8, 30))]
    lines[at:at] = piece * rng.choice((1, 1, 2, 20))


def _swap(rng: random.Random, lines: list[str], at: int) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def _mark(rng: random.Random, lines: list[str], at: int) -> None:
    marker = rng.choice(("", "", "", " ", "> ", "\t")) + rng.choice(MARKERS)
    lines[at : at + rng.choice((0, 1))] = [marker]


def _alter(rng: random.Random, lines: list[str], at: int) -> None:
    line = lines[at]
    lines[at] = rng.choice(
        (line[1:], " " + line, "-" + line, "+" + line, line + " ", line + "\r", "", line.strip())
    )


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(ODD) * rng.choice((1, 1, 1, 2, 50)) + text[at + rng.choice((0, 1)) :]


def _cut(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] if rng.random() < 0.7 else text[at:]


def _count(rng: random.Random, text: str) -> str:
    """Another number somewhere."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    match = rng.choice(found)
    number = rng.choice(("0", "1", "2", "3", "7", "99", "-1", "9" * 19, "1" * 5000, "٣", ""))
    return text[: match.start()] + number + text[match.end() :]


def _all_lines(rng: random.Random, text: str) -> str:
    """The same to every line: returns, an indent, a quote, marks in the wrong place."""
    change = rng.choice(("\n", "\r\n", "\n    ", "\n> ", "\n+", "\n\n", "\r", "\n1 | "))
    return text.replace("\n", change)


def _words(rng: random.Random, text: str) -> str:
    """One name or mark in the place of another, everywhere."""
    old = rng.choice((*PATHS, "SEARCH", "REPLACE", "***", "@@", "```", "a/", "b/", "---", "+++", " ", "-"))
    new = rng.choice((*PATHS, "", "SEARCH", "../", "a/", '"', "`", "/dev/null", "----", "~~~", "  "))
    return text.replace(old, new, rng.choice((1, -1)))


MUTATIONS: Final[tuple[Callable[[random.Random, str], str], ...]] = (
    *(_lines(change) for change in (_drop, _double, _swap, _mark, _mark, _alter, _alter)),
    _insert,
    _cut,
    _count,
    _all_lines,
    _words,
)
