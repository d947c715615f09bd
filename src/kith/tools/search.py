"""Search the tree's files: every match of few, with the lines around it; of many, where they are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from kith.context.find_lines import Hit, Query, find_lines
from kith.context.rank_files import kind_of
from kith.core.errors import TreeError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.answers import clip, count, in_words, left_out, lines_of, listed, refused, told
from kith.tools.paths import choose, globs, inner_path, is_place, path_of, similar, visible

SHOWN = 60  # lines of one answer when all fit, or when one file holds them
SHOWN_OF_MANY = (20, 40)  # files with their counts, then lines, when they do not
FEW, AROUND = 5, 2  # matches shown with so many lines before and after each
WIDTH = 200  # characters of a line
OUTPUT = 1_000_000  # bytes taken from an engine
SECONDS = 30.0  # an engine may take
_PATTERN = 40  # characters of what is searched, in a line


@in_words
async def _search(args: Mapping[str, Any], run: Run) -> ToolResult:
    path, pattern = inner_path(run, args.get("path", ".")), args["pattern"]
    if not pattern or "\n" in pattern or "\0" in pattern:
        return refused("The pattern must be part of one line, and not empty.")
    files = await run.workspace.files()
    chosen = choose(files, path)
    if not chosen:
        return refused(f"There is nothing to search at {path!r}.{similar(path, files)}")
    if path == chosen[0]:
        await run.workspace.read(path)  # an engine would follow a link that leads out of the tree
    place, matching = (path, []) if is_place(path, chosen) else (".", globs(path))
    literal, ignore_case = args.get("literal", False), args.get("ignore_case", False)
    query = Query(pattern, place, matching, literal, ignore_case)
    limits = replace(run.limits.exec, output=OUTPUT, seconds=min(SECONDS, run.limits.exec.seconds))
    try:
        hits, whole = await find_lines(run, query, chosen, limits)
    except re.error as error:
        return refused(f"{pattern!r} is not a valid regex ({error}): correct it, or set literal to true.")
    around = await _read_around(run, hits) if len(hits) <= FEW else {}
    found = _report(hits, whole, args.get("offset"), around) if hits else _nothing(query, whole, len(chosen))
    line = f'"{visible(clip(pattern, _PATTERN))}": {found.detail["line"]}'
    return replace(found, detail={**found.detail, "line": line})


def _nothing(query: Query, whole: bool, searched: int) -> ToolResult:
    kind = "" if query.literal or query.pattern == re.escape(query.pattern) else " as a regex"
    looked = f"{count(searched, 'file')} searched" if whole else "the search ran into its limit"
    return told(f"No matches for {query.pattern!r}{kind}; {looked}.", "no matches")


async def _read_around(run: Run, hits: Sequence[Hit]) -> dict[str, Sequence[str]]:
    """The lines of the files with matches, as far as they are still there."""
    texts = dict[str, Sequence[str]]()
    for path in dict.fromkeys(hit.path for hit in hits):
        try:
            texts[path] = lines_of(await run.workspace.read(path))
        except TreeError:
            continue
    return texts


def _report(
    hits: Sequence[Hit], whole: bool, offset: int | None, around: Mapping[str, Sequence[str]]
) -> ToolResult:
    """A page of lines where they are few or in one file; else the files, and the first lines of each.

    `offset` asks for a page in any case. `around` holds the lines of files whose matches get context.
    """
    per_file = Counter(hit.path for hit in hits)
    total = f"{count(len(hits), 'match')} in {count(len(per_file), 'file')}"
    line = f"{count(len(hits), 'match')} in {listed(map(visible, per_file))}"
    if not whole:
        total, line = f"at least {total}, the search ran into its limit", f"at least {line}"
    if offset is not None and not 0 <= offset < len(hits):
        return refused(f"There are {total}: offset {offset:,} is past their end.")
    if offset is not None or len(hits) <= SHOWN or len(per_file) == 1:
        end = (offset or 0) + SHOWN
        rows = [*_grouped(hits[end - SHOWN : end], around)]
        if end < len(hits):
            rows.append(left_out(len(hits) - end, "line", f"search with offset {end}"))
        # Where all is shown, there is nothing to count.
        heading = [] if whole and len(hits) <= SHOWN else [f"{total}:"]
        return told("\n".join((*heading, *rows)), line)
    most, lines = SHOWN_OF_MANY
    rows = [f"{number:>5} {visible(path)}" for path, number in per_file.most_common(most)]
    if len(per_file) > most:
        rows.append(left_out(len(per_file) - most, "file"))
    rows += ["Some of the lines:", *_grouped(_of_each(hits, lines), {})]
    rows.append(left_out(len(hits) - lines, "line", "narrow the pattern or path, or page from offset 0"))
    return told("\n".join((f"{total}:", *rows)), line)


def _of_each(hits: Sequence[Hit], most: int) -> Sequence[Hit]:
    """As many lines, so that every file has its first one before any has its second; code before the rest."""
    seen = Counter[str]()
    places = list[tuple[int, bool, int]]()
    for at, hit in enumerate(hits):
        places.append((seen[hit.path], kind_of(hit.path) not in ("source", "test"), at))
        seen[hit.path] += 1
    return [hits[at] for at in sorted(at for _, _, at in sorted(places)[:most])]


def _grouped(hits: Sequence[Hit], around: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each file's name once, its lines below."""
    for path, group in groupby(hits, key=lambda hit: hit.path):
        found = {hit.line: hit.text for hit in group}
        yield visible(path)
        yield from _with_context(found, around[path]) if path in around else map(_matching, found.items())


def _with_context(found: Mapping[int, str], lines: Sequence[str]) -> Iterator[str]:
    """The matches, marked as such, with the lines around them; `--` between lines that are apart."""
    near = {at for line in found for at in range(line - AROUND, line + AROUND + 1) if 0 < at <= len(lines)}
    shown = sorted(near.union(found))
    for before, at in zip([*shown[:1], *shown], shown, strict=False):
        if at > before + 1:
            yield "--"
        yield _matching((at, found[at])) if at in found else f"{at}- {clip(lines[at - 1], WIDTH)}"


def _matching(found: tuple[int, str]) -> str:
    return f"{found[0]}: {clip(found[1], WIDTH)}"


SEARCH = Tool(
    "search",
    "Find lines by regex in a folder or glob.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
            "literal": {"type": "boolean"},
            "ignore_case": {"type": "boolean"},
            "offset": {"type": "integer"},
        },
        "required": ["pattern"],
    },
    "read",
    _search,
    path_of,
)
