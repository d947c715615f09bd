"""Look at files and folders."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.budget import output_room
from kith.core.errors import HiddenError, TreeError
from kith.core.line_ranges import Passage, passage_of
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import CallTarget, ToolResult
from kith.tools.answers import (
    clip,
    count,
    decode,
    in_words,
    left_out,
    listed,
    refused,
    sentence,
    split_lines,
    told,
)
from kith.tools.paths import (
    choose,
    clean_path,
    inner_path,
    is_place,
    path_of,
    similar,
    visible,
)

LISTED = 200  # entries in one answer of `list`
WIDTH = 2000  # characters of a line; longer ones are cut
LARGEST = 8_000_000  # bytes of a file that `read` still pages through
_PROBE = 8000  # bytes in which a NUL means "not text", as git has it
FEWEST_LINES, MOST_LINES = 250, 1000  # of one `read`, by the window
_WINDOW_OF_A_LINE = 64  # tokens: a line takes about ten, so that all together take a sixth of the window


class ReadLimits(Struct, frozen=True):
    """The limits of a single `read` of one file; all files of one call share twice the bytes.

    `lines` count where no last line is asked for, and a tenth more is shown if that is the file's end.
    """

    lines: int = FEWEST_LINES
    bytes: int = 24_000

    @classmethod
    def of_window(cls, window: int) -> "ReadLimits":
        """Return the limits for a model's window in tokens (0: unknown); each call costs a request."""
        lines = min(MOST_LINES, max(FEWEST_LINES, window // _WINDOW_OF_A_LINE))
        return cls(lines, output_room(window, 48_000))


READ_LIMITS = ReadLimits()


# --- read ------------------------------------------------------------------------------------


def make_read(limits: ReadLimits = READ_LIMITS) -> Tool:
    """Show files, with a way to read on wherever something is left out."""

    @in_words
    async def read(args: Mapping[str, Any], run: Run) -> ToolResult:
        paths = [path for path in args["paths"] if isinstance(path, str)]
        if not paths or len(paths) != len(args["paths"]):
            return refused("paths is a list of file names: send at least one.")
        shown: list[ToolResult] = []
        room = 2 * limits.bytes
        for path in paths:
            if room <= 0:
                rest = ", ".join(paths[len(shown) :])
                shown.append(refused(f"This answer is full. Read these with another call: {rest}."))
                break
            fitting = replace(limits, bytes=min(limits.bytes, room))
            shown.append(await _read_one(run, passage_of(path), fitting, alone=len(paths) == 1))
            room -= len(shown[-1].text.encode("utf-8", "replace"))
        return shown[0] if len(shown) == 1 else _joined(shown, paths)

    schema = {
        "type": "object",
        "properties": {"paths": {"type": "array", "items": {"type": "string"}}},
        "required": ["paths"],
    }
    return Tool("read", "Show files, folders, or lines: a.py:10-40.", schema, "read", read, _files_named)


def _files_named(args: Mapping[str, Any]) -> CallTarget:
    """The files alone: a policy decides about them, whichever of their lines are asked for."""
    return CallTarget(" ".join(clean_path(passage_of(str(path)).path) for path in args.get("paths", ())))


def _joined(shown: Sequence[ToolResult], asked: Sequence[str]) -> ToolResult:
    text = "\n\n".join(each.text for each in shown)
    files = dict.fromkeys(passage_of(path).path for path in asked)
    good = {passage_of(path).path for path, each in zip(asked, shown, strict=False) if each.ok}
    if not good:
        return refused(text)
    missing = [visible(path) for path in files if path not in good]
    line = listed(visible(path) for path in files if path in good)
    return told(text, f"{line}, not {listed(missing)}" if missing else line)


async def _read_one(run: Run, asked: Passage, limits: ReadLimits, *, alone: bool) -> ToolResult:
    try:
        path = inner_path(run, asked.path)
    except TreeError as error:
        return refused(sentence(error))
    try:
        data = await run.workspace.read(path)
    except TreeError as error:
        return await _unreadable(run, path, error)
    if len(data) > LARGEST:
        return refused(f"{visible(path)} has {len(data):,} bytes, too many to read: search it instead.")
    if b"\0" in data[:_PROBE]:
        return refused(f"{visible(path)} is not text: it is a binary file of {len(data):,} bytes.")
    text, is_utf8 = decode(data)
    note = "" if is_utf8 else " (not UTF-8, shown as Latin-1)"
    lines = split_lines(text)
    start, end = max(asked.start, 1), len(lines) if asked.end is None else asked.end
    if not lines:
        return told(f"{visible(path)} is empty.", f"{visible(path)} is empty")
    if start > len(lines):
        return refused(f"{visible(path)} has {count(len(lines), 'line')}: line {start} is past its end.")
    if end < start:
        return refused(f"{visible(path)}: line {end} comes before line {start}.")
    if asked.end is not None:  # who names the last line wants them all
        limits = replace(limits, lines=end)
    page = _page(visible(path), lines, start, min(end, len(lines)), limits)
    plain = alone and is_utf8 and asked == Passage(asked.path)  # a file as a whole, if it has any words
    if plain and page.whole and text.strip():
        return told("\n".join(page.rows), page.line)
    return told("\n".join((f"{visible(path)}, {page.extent}{note}:", *page.rows)), page.line)


class _Page(Struct, frozen=True):
    """Lines of a file, their extent in words, and a line for people; `whole`: they are all."""

    rows: Sequence[str]
    extent: str
    line: str
    whole: bool


def _page(path: str, lines: Sequence[str], start: int, end: int, limits: ReadLimits) -> _Page:
    """Show lines `start` to `end` as far as they fit (at least one), and where to read on.

    The lines are shown as in the file, so that a model can copy them into an edit. Line numbers would add a
    fifth to the tokens, and the heading tells the first line. Who asks for one whole file gets no heading.
    """
    rows: list[str] = []
    room = limits.bytes
    beyond = end - start + 1 - limits.lines
    stop = end if beyond <= limits.lines // 10 else start + limits.lines - 1
    for number in range(start, stop + 1):
        row = clip(lines[number - 1], WIDTH)
        room -= len(row.encode("utf-8", "replace")) + 1
        if rows and room < 0:
            break
        rows.append(row)
    last = start + len(rows) - 1
    whole = len(rows) == len(lines)
    extent = count(len(lines), "line") if whole else f"lines {start}-{last} of {len(lines)}"
    if last < end:
        rest = Passage(path, last + 1, None if end == len(lines) else end)
        rows.append(left_out(end - last, "line", f"read {rest}"))
    return _Page(rows, extent, f"{path}, {extent}" if whole else f"{path}:{start}-{last}", whole)


async def _unreadable(run: Run, path: str, error: TreeError) -> ToolResult:
    """A folder or glob is listed; a name that does not exist gets its neighbours."""
    files = await run.workspace.files()
    if path not in files and (below := choose(files, path)):
        return _listing(below, path, how="read a glob in it")
    if path == "." and not files:
        return _NOTHING
    why = error.why if isinstance(error, HiddenError) else ""
    return refused(sentence(error) + ("" if path in files else similar(path, files)), why=why)


_NOTHING: Final = told("There are no files yet.", "no files")


# --- list ------------------------------------------------------------------------------------


@in_words
async def _list(args: Mapping[str, Any], run: Run) -> ToolResult:
    path = inner_path(run, args.get("path", "."))
    files = await run.workspace.files()
    chosen = choose(files, path)
    if chosen:
        return _listing(chosen, path, args.get("offset", 0))
    if path == ".":
        return _NOTHING
    return refused(f"No files match {path!r}, ignored ones aside.{similar(path, files)}")


LIST = Tool(
    "list",
    "List a folder or glob.",
    {"type": "object", "properties": {"path": {"type": "string"}, "offset": {"type": "integer"}}},
    "read",
    _list,
    path_of,
)


def _listing(files: Sequence[str], path: str, offset: int = 0, how: str = "") -> ToolResult:
    """List the files, folders drawn together; `how` to see what does not fit ("": with an offset)."""
    entries = _outline(files, path.count("/") + 1 if path != "." and is_place(path, files) else 0)
    if not 0 <= offset < len(entries):
        return refused(f"There are {count(len(entries), 'entry')}: offset {offset:,} is past their end.")
    rows, end = entries[offset : offset + LISTED], offset + LISTED
    if end < len(entries):
        rows.append(left_out(len(entries) - end, "entry", how or f"list with offset {end}"))
    elif len(entries) < len(files):
        rows.append("[folders are shown with the number of files in them: read one to look inside]")
    below = "" if path == "." else f"{visible(path)}, "
    return told("\n".join(rows), f"{below}{count(len(files), 'file')}")


def _outline(files: Sequence[str], above: int) -> list[str]:
    """The files, deeper folders drawn together as far as LISTED entries need; `above` parts stay whole."""
    best = _cut_at(files, above + 1)
    for depth in range(above + 2, max(file.count("/") for file in files) + 2):
        deeper = _cut_at(files, depth)
        if len(deeper) > LISTED:
            break
        best = deeper
    return best


def _cut_at(files: Sequence[str], depth: int) -> list[str]:
    entries: Counter[str] = Counter()
    for file in files:
        parts = file.split("/", depth)
        entries[file if len(parts) <= depth else "/".join(parts[:depth]) + "/"] += 1
    return [
        f"{visible(entry)} ({count(number, 'file')})" if entry.endswith("/") else visible(entry)
        for entry, number in entries.items()
    ]
