"""Unified diffs as models really write them: wrong counts, no headers, in fences, with prose around them."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from kith.core.patterns import lazy_pattern
from kith.core.values import EXECUTABLE, FILE
from kith.edits.context_diff import CONTEXT_HEAD, as_unified
from kith.edits.edit_types import Create, Delete, Edit, EditError, Hunk, Patch
from kith.edits.paths import path_in, unquote

# What a diff says of a file before its hunks: names, modes, moves.

NOTHING = "/dev/null"
# One name twice, which may hold blanks; or two names, in quotes where they need them.
_LONGEST = 9_000  # characters of two paths; looking for a name that stands twice takes the square of it
_GIT_SAME = lazy_pattern(r'^diff --git ((?:[^\s"/]+/)?)([^"]+) ((?:[^\s"/]+/)?)\2$')
_GIT_NAMES = lazy_pattern(r'^diff --git ("(?:\\.|[^"])*"|\S+) ("(?:\\.|[^"])*"|\S+)$')
_PREFIXES = frozenset(
    "abciow12"
)  # a/ and b/, or what they are compared with: commit, index, object, work tree
_MODE = lazy_pattern(r"^(new file|deleted file|new|old) mode (.*)$")
_MOVE = lazy_pattern(r"^(rename|copy) (from|to) (.+)$")
_OTHER = lazy_pattern(r"^(?:index [0-9a-f]+\.\.|(?:dis)?similarity index )")
_CHANGED = lazy_pattern(
    r"^index (?!0+\.\.)[0-9a-f]+\.\.[0-9a-f]+ \d{6}$"
)  # with the mode of a file that stays
_QUOTED = lazy_pattern(r'^\s*("(?:\\.|[^"\\])*")')
_TIME = lazy_pattern(r"(?:\t.*|(?<!\s)\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
_STAMP = lazy_pattern(r"\s(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d\d):?(\d\d)\s*$")


class Section(Struct):
    """One file's part of a diff, while it is read."""

    old: str = ""
    new: str = ""
    mode: int | None = None
    by_git: bool = False
    said: tuple[str, ...] = ()  # git's own names, with what tells the two sides apart
    there: bool = False  # git says that the file exists
    created: bool = False
    deleted: bool = False
    moved: bool = False  # or copied
    copied: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def begin_section(line: str, known: Collection[str]) -> Section:
    """The part of a file that a `diff --git` line begins."""
    words = line.rstrip("\r")
    old = new = ""
    if len(words) < _LONGEST and (same := _GIT_SAME.match(words)):
        old, new = same[1] + same[2], same[3] + same[2]
    elif names := _GIT_NAMES.match(words):
        old, new = unquote(names[1]), unquote(names[2])
    return Section(*_plain(old, new, known), by_git=True, said=(old.strip(), new.strip()))


def take_extended(section: Section, line: str) -> bool:
    """Take in one of git's lines between the names and the hunks; False when it is none."""
    words = line.rstrip("\r")
    if mode := _MODE.match(words):
        _take_mode(section, mode[1], mode[2])
    elif move := _MOVE.match(words):
        if section.moved and section.copied != (move[1] == "copy"):
            raise EditError(f"The header of {section.new} names a rename and a copy; which is it?")
        section.moved = True
        section.copied = move[1] == "copy"
        if move[2] == "from":
            section.old = unquote(move[3])
        else:
            section.new = unquote(move[3])
    elif words.startswith(("Binary files ", "GIT binary patch")):
        raise EditError(f"The diff of {section.new} is binary; only text can be edited.")
    else:
        section.there |= bool(_CHANGED.match(words))
        return bool(_OTHER.match(words))
    return True


def _take_mode(section: Section, what: str, digits: str) -> None:
    if not re.fullmatch(r"[0-7]{5,6}", digits):
        raise EditError(f"{section.new}: {digits!r} is not a mode of a file, such as 100644.")
    mode = int(digits, 8)
    if mode & 0o170000 != FILE & 0o170000:
        raise EditError(f"{section.new} is a link or a submodule; only plain files are edited.")
    section.created |= what == "new file"
    section.deleted |= what == "deleted file"
    if what.startswith("new"):
        section.mode = EXECUTABLE if mode & 0o100 else FILE


def take_names(section: Section, minus: str, plus: str, known: Collection[str]) -> None:
    """Take in the `---` and `+++` lines. Raises EditError where they contradict git's own names."""
    raw = _name(minus), _name(plus)
    section.created |= raw[0] == NOTHING or _is_epoch(minus)
    section.deleted |= raw[1] == NOTHING or (_is_epoch(plus) and not section.created)
    plain = _plain(*raw, known)
    if not (section.by_git and section.old):
        section.old, section.new = plain
        return
    # git's own line has the names exactly; blanks at their ends are lost where no tab follows.
    expected = {section.old.strip(), section.new.strip(), NOTHING, *section.said}
    for said, name in zip(raw, plain, strict=True):
        if expected.isdisjoint((said, name, _bare(name).strip())):
            raise EditError(f"The header names {section.new!r} first, and then {name!r}; which file is it?")
    if NOTHING not in raw and section.old != section.new:
        section.moved |= section.old in known or section.new not in known


def lone_name(line: str, known: Collection[str]) -> str:
    """The file that a `---` or `+++` line names without the other one; "" if it is none."""
    if not line.startswith(("--- ", "+++ ")):
        return ""
    name = _name(line)
    old, new = _plain(name, NOTHING, known) if line.startswith("-") else _plain(NOTHING, name, known)
    return old if line.startswith("-") else new


def _bare(name: str) -> str:
    """A name without the letter that says which side it is of."""
    first, _, rest = name.partition("/")
    return rest if first in _PREFIXES else name


def _name(line: str) -> str:
    """The name on a `---` or `+++` line, without a time behind it."""
    said = line[4:].rstrip("\r")
    quoted = _QUOTED.match(said)
    return unquote(quoted[1] if quoted else _TIME.sub("", said).strip()).removeprefix("./")


def _is_epoch(line: str) -> bool:
    """True if the time on a `---` or `+++` line marks a missing file (as `diff -N` writes it)."""
    if not (stamp := _STAMP.search(line.rstrip("\r"))):
        return False
    day, time, hours, minutes = stamp.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time}{hours}:{minutes}") == datetime(1970, 1, 1, tzinfo=UTC)
    except ValueError:
        return False  # there is no such time


def _plain(old: str, new: str, known: Collection[str]) -> tuple[str, str]:
    """Both names as paths in the tree: without what tells the two sides apart."""
    names = [name for name in (old, new) if name != NOTHING]
    cut = [name.partition("/")[2] for name in names]
    as_said = any(name in known for name in names) and not any(name in known for name in cut)
    if not names or not all(cut) or as_said:
        return old, new
    first = [name.partition("/")[0] for name in names]
    apart = len(names) == 2 and cut[0] == cut[1] and first[0] != first[1]
    if len(names) == 1:
        marked = first[0] == ("a" if new == NOTHING else "b")
    else:
        marked = first == ["a", "b"] or (first[0] != first[1] and _PREFIXES.issuperset(first))
    if not (marked or apart):
        return old, new
    old, new = (name if name == NOTHING else name.partition("/")[2] for name in (old, new))
    return old, new


UNIFIED = lazy_pattern(
    r"^[ \t]*(?:diff --git +\S|--- \S.*\n[ \t]*\+\+\+ \S"
    rf"|@@ (?:-\d[\d,]* \+\d[\d,]* |\.\.\. )?@@|{CONTEXT_HEAD})",
    re.M,
)
_UNSPACED = lazy_pattern(r"^(---|\+\+\+)(?=[^\s+-])")
_NUMBERS = lazy_pattern(r"^@@+ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_FENCE = lazy_pattern(r"^\s*(?:`{3,}|~{3,})")
_SIGNED = lazy_pattern(r"[ +\\-]*")
_ENTITY = lazy_pattern(r"&(?:lt|gt|amp|quot|#39|#x27);")
_UNESCAPED = lazy_pattern(r"[<>]|&(?!\w+;|#)")
_MARKUP = (".md", ".markdown", ".html", ".htm", ".xhtml", ".xml", ".svg")
_SIGNATURE = lazy_pattern(r"^\d+\.\d+[\w.-]*\s*$")  # of git format-patch, below "-- "


def parse_unified(
    lines: Sequence[str], known: Collection[str] = (), about: str = "", whole: bool = False
) -> list[Edit]:
    """The edits of every diff in a reply. Raises EditError when one is broken or names no file.

    `about` is the file of hunks that name none. `whole`: the reply is known to have come to its end, so
    that a hunk with fewer lines than announced was miscounted, not cut.
    """
    reader = _Reader(_dedent(as_unified(lines)), known, about, whole)
    reader.read()
    for section in reader.sections:
        _check_escapes(section)
    edits = [edit for section in reader.sections if (edit := _edit(section, known))]
    if not edits:
        raise EditError("The diff changes nothing. Mark removed lines with '-' and added ones with '+'.")
    return edits


def _dedent(lines: Sequence[str]) -> list[str]:
    """The lines of an indented diff, as under a list item, moved back to the margin."""
    indent = ""
    for above, line in zip(["", *lines], [*lines, ""], strict=True):
        if line.lstrip().startswith(("+++ ", "diff --git ")) or _NUMBERS.match(line.lstrip()):
            first = above if line.lstrip().startswith("+++ ") else line
            indent = first[: len(first) - len(first.lstrip())]
            break
    return [line.removeprefix(indent) for line in lines] if indent else list(lines)


class _Reader:
    """Reads lines into sections, one file after the other."""

    def __init__(self, lines: Sequence[str], known: Collection[str], about: str, whole: bool) -> None:
        self.lines = lines
        self.signs = "".join([line[:1] or " " for line in lines])
        self.known = known
        self.about = about
        self.whole = whole
        self.row = 0
        self.fenced = False
        self.sections: list[Section] = []

    def read(self) -> None:
        while self.row < len(self.lines):
            line = self.lines[self.row]
            if line.startswith("@@"):
                self._hunk()
            elif line.startswith("diff --git "):
                self._git_header(line)
            elif self._is_header(self.row):
                self._file_header()
            elif path := self._lone_header(self.row):
                self.sections.append(Section(path, path))
                self.row += 1
            else:
                self.fenced ^= bool(_FENCE.match(line))
                self.row += 1

    def _is_header(self, row: int, due: bool = False) -> bool:
        """True for `---` and `+++` lines that begin a file, and are not a removed and an added line.

        `due`: the hunk above announced more lines than it has so far.
        """
        if not self._at(row).startswith("--- ") or not self._at(row + 1).startswith("+++ "):
            return False
        below = self._at(row + 2)
        if below.startswith(("@@", "diff ")):
            return True
        return not due and (not below.strip() or bool(_FENCE.match(below)))

    def _lone_header(self, row: int) -> str:
        """The known file of a `---` or `+++` line directly above a hunk; "" if there is none."""
        path = lone_name(self._at(row), self.known) if self._at(row + 1).startswith("@@") else ""
        return path if path in self.known else ""

    def _at(self, row: int) -> str:
        return self.lines[row] if row < len(self.lines) else ""

    def _git_header(self, line: str) -> None:
        section = begin_section(line, self.known)
        self.sections.append(section)
        self.row += 1
        while self.row < len(self.lines) and take_extended(section, self.lines[self.row]):
            self.row += 1
        if self._is_header(self.row):
            self._names(section)
        elif self._at(self.row + 1).startswith("@@") and (
            lone_name(self._at(self.row), self.known) in (section.old, section.new)
        ):  # only one of both lines: git's own names hold
            self.row += 1

    def _file_header(self) -> None:
        section = Section()
        self._names(section)
        last = self.sections[-1] if self.sections else None
        if last and last.hunks and (last.old, last.new) == (section.old, section.new):
            return  # some models repeat the header above each hunk
        self.sections.append(section)

    def _names(self, section: Section) -> None:
        """Takes in the `---` and `+++` lines at the present row."""
        take_names(section, self.lines[self.row], self.lines[self.row + 1], self.known)
        self.row += 2

    def _hunk(self) -> None:
        header = self.lines[self.row]
        self.row += 1
        if not self.sections:
            self.sections.append(self._nameless(header))
        hunk = self._read_hunk(header)
        if hunk.signs.strip(" "):
            self.sections[-1].hunks.append(hunk)
            self._check_rest(header)

    def _nameless(self, header: str) -> Section:
        """A section for hunks without a file header: a name above them, or the only known file."""
        above = [line for line in self.lines[: self.row - 1] if line.strip() and not _FENCE.match(line)]
        head = _UNSPACED.sub(r"\1 ", above[-1]) if above else ""
        path = lone_name(head, self.known)
        if not path:
            path = path_in(head, self.known) or self.about
        if not path or path == NOTHING:
            raise EditError(f"The hunk {header!r} names no file. Begin with '--- a/name' and '+++ b/name'.")
        return Section(path, path)

    def _read_hunk(self, header: str) -> Hunk:
        numbers = _NUMBERS.match(header)
        old, new = _counts(numbers)
        body = self._counted_body(old, new) or self._body(old or 0, new or 0)
        blanks = 0  # at the end they may be the reply's own; as context they can be spared
        while blanks < len(body) and not body[-1 - blanks]:
            blanks += 1
        lines = tuple([line or " " for line in body[: len(body) - blanks]])
        hunk = Hunk(lines, int(numbers[1]) if numbers else None)
        self._check_end(hunk, old, new, blanks)
        # A line number is only as good as the counts next to it.
        counted = old is None or len(hunk.old) <= old <= len(hunk.old) + blanks
        return hunk if counted or "," not in header.split("@@")[1] else Hunk(lines)

    def _counted_body(self, old: int | None, new: int | None) -> list[str]:
        """The lines down to the next header when these are as many as announced; none when they are not."""
        run = _SIGNED.match(self.signs, self.row)
        signs, end = (run[0], run.end()) if run else ("", self.row)
        unchanged = len(signs) - signs.count("+") - signs.count("-") - signs.count("\\")
        if (unchanged + signs.count("-"), unchanged + signs.count("+")) != (old, new):
            return []
        body = self.lines[self.row : end]
        ended = end == len(self.lines) or self.lines[end].startswith(("@@", "diff --git "))
        if not ended or [line for line in body if line.startswith("--- ")]:  # perhaps the next header
            return []
        self.row = end
        return list(body)

    def _body(self, old: int, new: int) -> list[str]:
        """The lines of a hunk; one that forgot its sign is context while `old` and `new` more are due."""
        body: list[str] = []
        row, lines = self.row, self.lines
        while row < len(lines):
            line = lines[row]
            sign = line[:1]
            if sign == "-" and line.startswith("--- ") and self._is_header(row, old > 0 and new > 0):
                break
            announced = old if sign == "-" else new if sign == "+" else 1
            if announced <= 0 and self._lone_header(row):
                break
            if not old and not new and line.rstrip() == "--" and _SIGNATURE.match(self._at(row + 1)):
                break
            if sign not in ("", " ", "+", "-", "\\"):
                due = (old > 0 and new > 0) or self.fenced
                if not due or line.startswith(("@@", "diff --git ")) or _FENCE.match(line):
                    break
                line, sign = " " + line, " "
            old -= sign in ("", " ", "-")
            new -= sign in ("", " ", "+")
            body.append(line)
            row += 1
        self.row = row
        return body

    def _check_rest(self, header: str) -> None:
        """Refuses a hunk that an unsigned line seems to have ended: changes below it would be lost."""
        for row in range(self.row, len(self.lines)):
            line = self.lines[row]
            if line.startswith(("@@", "diff --git ", "--- ")) or _FENCE.match(line):
                return
            if self._lone_header(row):
                return
            if re.match(r"\+|-(?![-\s])", line):
                raise EditError(
                    f"A line below {header!r} has no ' ', '-' or '+' in front, so {line!r} is not part of it."
                )

    def _check_end(self, hunk: Hunk, old: int | None, new: int | None, blanks: int) -> None:
        """Refuses a hunk that lacks announced lines where these decide about its place or its end."""
        lead, tail = hunk.context_above, hunk.context_below
        fewer = [len(hunk.old) + blanks < (old or 0), len(hunk.new) + blanks < (new or 0)]
        if lead == len(hunk.signs) and (all(fewer) or old != new):
            raise EditError("A hunk has neither '-' nor '+' lines, but its header announces some.")
        if not any(fewer):
            return
        last = not self._at(self.row).startswith("@@")
        rest = (self.lines[row] for row in range(self.row, len(self.lines)))
        cut = last and (tail < max(1, lead) or not any(line.strip() for line in rest))
        if hunk.signs.startswith("+") and hunk.old and fewer[0] and hunk.start != 0:
            raise EditError("A hunk begins with added lines, and has fewer others than its header says.")
        whole = self.whole or (self.fenced and bool(_FENCE.match(self._at(self.row))))
        if not whole and ((all(fewer) and (not lead or cut)) or (any(fewer) and cut and not tail)):
            raise EditError("A hunk has fewer lines than its header says. Send the diff again, whole.")


def _check_escapes(section: Section) -> None:
    """Refuses a diff that was escaped as HTML on its way: then no raw character of those is left in it."""
    lines = [line for hunk in section.hunks for line in hunk.lines]
    escaped = any(line[0] == "+" and _ENTITY.search(line) for line in lines)
    if escaped and not any(map(_UNESCAPED.search, lines)) and not section.new.endswith(_MARKUP):
        raise EditError(
            f"The diff of {section.new} is escaped as HTML, '&lt;' for '<'. Send it as it is to stand in the "
            "file; or, if that is meant, as search/replace blocks."
        )


def _counts(numbers: re.Match[str] | None) -> tuple[int | None, int | None]:
    if not numbers:
        return None, None
    return int(numbers[2] or 1), int(numbers[4] or 1)


def _edit(section: Section, known: Collection[str]) -> Edit | None:
    """Convert a section to an edit; None for an empty section."""
    hunks = tuple(section.hunks)
    kinds = {"new": section.created, "deleted": section.deleted, "moved": section.moved}
    if len(said := [kind for kind, meant in kinds.items() if meant]) > 1:
        raise EditError(f"The header says that {section.new} is {' and '.join(said)}; send one of them.")
    if section.created:
        if any(hunk.old for hunk in hunks):
            raise EditError(f"The new file {section.new} has lines that are not added; begin each with '+'.")
        return Create(section.new, "".join(map(_content, hunks)), section.mode)
    if section.deleted:
        if any(hunk.new for hunk in hunks):
            raise EditError(f"{section.old} is to be deleted, but the diff keeps lines of it.")
        return Delete(section.old, "".join(line + "\n" for hunk in hunks for line in hunk.old))
    if section.moved:
        return Patch(section.old, hunks, section.new, section.mode, section.copied)
    path = section.old if section.old in known and section.new not in known else section.new
    if section.there and known and path not in known and not any(hunk.old for hunk in hunks):
        words = f"{path} is to be changed, but there is no such file; git shows a new one as new."
        raise EditError(words, absent=True)
    return Patch(path, hunks, None, section.mode) if hunks or section.mode else None


def _content(hunk: Hunk) -> str:
    text = "".join(line + "\n" for line in hunk.new)
    return text.removesuffix("\n") if hunk.lines[-1:] and hunk.lines[-1][0] == "\\" else text
