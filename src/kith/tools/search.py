"""Find lines in the tree's files, with the quickest engine the machine has."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.context.rank_files import kind_of
from kith.core.errors import TreeError
from kith.core.generated import GENERATED
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.core.workspace import Command
from kith.tools.answers import clip, count, in_words, left_out, lines_of, listed, refused, split_lines, told
from kith.tools.git import git_command
from kith.tools.paths import choose, globs, inner_path, is_place, path_of, similar, visible

SHOWN = 60  # lines of one answer when all fit
SHOWN_OF_MANY = (20, 40)  # files with their counts, then lines, when they do not
WIDTH = 200  # characters of a line
OUTPUT = 1_000_000  # bytes taken from an engine
SECONDS = 30.0  # an engine may take
_PATTERN = 40  # characters of what is searched, in a line
_FOUND, _NOTHING = 0, 1  # exit codes; any other: the engine is missing, or does not take the pattern
# rg: path NUL line ":" text; git: path NUL line NUL text
_HIT = re.compile(r"(?:\./)?([^\0]+)\0(\d+)[:\0](.*)")


class Hit(Struct, frozen=True):
    """A line that matches."""

    path: str
    line: int
    text: str


class Query(Struct, frozen=True):
    """The query of a search, in a file or folder, and there in files that match `globs` (if any)."""

    pattern: str
    place: str
    globs: Sequence[str]
    literal: bool
    ignore_case: bool
    without: Sequence[str] = ()  # names of folders

    def compile(self) -> re.Pattern[str]:
        """Raises re.error."""
        pattern = re.escape(self.pattern) if self.literal else self.pattern
        return re.compile(pattern, re.IGNORECASE if self.ignore_case else 0)


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
    parts = {part for file in chosen for part in file.split("/")}
    without = sorted(GENERATED.keys() - parts)
    query = Query(pattern, place, matching, literal, ignore_case, without)
    try:
        hits, whole = await _find(run, query, chosen)
    except re.error as error:
        return refused(f"{pattern!r} is not a valid regex ({error}): correct it, or set literal to true.")
    found = _report(hits, whole, args.get("offset")) if hits else _nothing(query, whole, len(chosen))
    line = f'"{visible(clip(pattern, _PATTERN))}": {found.detail["line"]}'
    return replace(found, detail={**found.detail, "line": line})


async def _find(run: Run, query: Query, chosen: Sequence[str]) -> tuple[list[Hit], bool]:
    """The matches in the chosen files, and whether these are all. Raises re.error."""
    limits = replace(run.limits.exec, output=OUTPUT, seconds=min(SECONDS, run.limits.exec.seconds))
    allowed = set(chosen)
    for command in (_ripgrep(query), _git_grep(query)):
        ran = await run.workspace.exec(command, limits)
        hits = [hit for hit in _parse(ran.output) if hit.path in allowed]
        if hits or ran.timed_out or ran.code in (_FOUND, _NOTHING):
            return hits, not (ran.timed_out or ran.cut)
    return await _look_through(run, query.compile(), chosen), True


def _ripgrep(query: Query) -> Command:
    words = ["rg", "--no-config", "--hidden", "--no-require-git", "--no-messages", "--crlf", "--sort=path"]
    words += [
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--null",
        "--color=never",
        "--max-columns=400",
    ]
    words += ["--max-columns-preview", *_options(query)]
    for glob in query.globs:
        words += ["--glob", glob, "--glob", f"{glob}/**"]
    for name in (".git", *query.without):
        words += ["--glob", f"!{name}/"]
    words += [
        "-e",
        query.pattern,
        "--",
        query.place if query.place == "." else f"./{query.place}",
    ]
    return Command(shlex.join(words))


def _git_grep(query: Query) -> Command:
    dialect = [] if query.literal else ["--perl-regexp"]
    words = ["grep", "-nzI", "--untracked", "--no-color", *dialect, *_options(query)]
    without = [f":(exclude,glob)**/{name}/**" for name in query.without]
    return git_command(*words, "-e", query.pattern, "--", query.place, *without)


def _options(query: Query) -> list[str]:
    return ["--fixed-strings"] * query.literal + ["--ignore-case"] * query.ignore_case


def _parse(output: str) -> Iterator[Hit]:
    for line in split_lines(output):
        found = _HIT.fullmatch(line)
        if found:
            yield Hit(found[1], int(found[2]), found[3])


async def _look_through(run: Run, pattern: re.Pattern[str], chosen: Sequence[str]) -> list[Hit]:
    """The engine for machines that have neither ripgrep nor git."""
    hits: list[Hit] = []
    for path in chosen:
        try:
            data = await run.workspace.read(path)
        except TreeError:
            continue  # gone since it was listed, or a link that leads nowhere
        if b"\0" not in data:
            lines = enumerate(lines_of(data), 1)
            hits += [Hit(path, number, line) for number, line in lines if pattern.search(line)]
    return hits


def _nothing(query: Query, whole: bool, searched: int) -> ToolResult:
    kind = "" if query.literal or query.pattern == re.escape(query.pattern) else " as a regex"
    looked = f"{count(searched, 'file')} searched" if whole else "the search ran into its limit"
    return told(f"No matches for {query.pattern!r}{kind}; {looked}.", "no matches")


def _report(hits: Sequence[Hit], whole: bool, offset: int | None) -> ToolResult:
    """All lines when they are few; else a page from `offset`, or the files and the first lines of each."""
    per_file = Counter(hit.path for hit in hits)
    total = f"{count(len(hits), 'match')} in {count(len(per_file), 'file')}"
    line = f"{count(len(hits), 'match')} in {listed(map(visible, per_file))}"
    if not whole:
        total, line = f"at least {total}, the search ran into its limit", f"at least {line}"
    if offset is not None and not 0 <= offset < len(hits):
        return refused(f"There are {total}: offset {offset:,} is past their end.")
    if offset is not None or len(hits) <= SHOWN:
        end = (offset or 0) + SHOWN
        rows = [*_grouped(hits[end - SHOWN : end])]
        if end < len(hits):
            rows.append(left_out(len(hits) - end, "line", f"search with offset {end}"))
        return told("\n".join((f"{total}:", *rows)), line)
    most, lines = SHOWN_OF_MANY
    rows = [f"{number:>5} {visible(path)}" for path, number in per_file.most_common(most)]
    if len(per_file) > most:
        rows.append(left_out(len(per_file) - most, "file"))
    rows += ["Some of the lines:", *_grouped(_of_each(hits, lines))]
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


def _grouped(hits: Sequence[Hit]) -> Iterator[str]:
    """Each file's name once, its lines below."""
    path = ""
    for hit in hits:
        if hit.path != path:
            path = hit.path
            yield visible(path)
        yield f"{hit.line}: {clip(hit.text.removesuffix(chr(13)), WIDTH)}"


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
