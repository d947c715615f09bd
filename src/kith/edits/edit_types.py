"""The values a reply is turned into: what the model wants done to which file."""

from msgspec import Struct
from msgspec.structs import force_setattr


class EditError(ValueError):
    """Nothing was changed. The text is a message to the model: what did not fit, and what to send again.

    `absent`: a file that was to be changed or deleted is not there. `already`: the file says it already.
    """

    def __init__(self, text: str, *, absent: bool = False, already: bool = False) -> None:
        super().__init__(text)
        self.absent, self.already = absent, already


class NothingToChange(EditError):
    """All edits fit, and the files already say what they would write."""


class Hunk(Struct, frozen=True):
    """One contiguous piece of a diff.

    `lines` keep their sign (" ", "-", "+", or "\\\\" for "no newline at end of file") and no newline.
    `start` and `new_start` are line numbers, from 1; None where the diff does not say, or is not to be
    trusted. `anchors` are lines above the hunk; `at_end` says that it closes the file.
    A piece that is no text (a mode, a binary file) has git's words for it as its lines.
    """

    lines: tuple[str, ...]
    start: int | None = None
    new_start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    old: tuple[str, ...] = ()
    """The lines as they should stand in the file."""
    new: tuple[str, ...] = ()
    """The lines as they will stand in the file."""
    signs: str = ""
    """The sign of each of those lines, without the backslashes."""

    def __post_init__(self) -> None:
        old, new = list[str](), list[str]()
        for line in self.lines:
            sign, said = line[:1], line[1:]
            if sign == " ":
                old.append(said)
                new.append(said)
            elif sign == "-":
                old.append(said)
            elif sign == "+":
                new.append(said)
        signs = "".join([line[:1] for line in self.lines]).replace("\\", "")
        for name, value in (("old", tuple(old)), ("new", tuple(new)), ("signs", signs)):
            force_setattr(self, name, value)

    @property
    def context_above(self) -> int:
        """The number of context lines above the first changed line."""
        return len(self.signs) - len(self.signs.lstrip(" "))

    @property
    def context_below(self) -> int:
        """The number of context lines below the last changed line."""
        return len(self.signs) - len(self.signs.rstrip(" "))

    @property
    def header(self) -> str:
        """The `@@ -start,count +start,count @@` line."""
        return f"@@ -{_span(self.start, len(self.old))} +{_span(self.new_start, len(self.new))} @@"

    @property
    def text(self) -> str:
        """The piece as a diff shows it, its header first if it has line numbers."""
        header = () if self.start is None else (self.header,)
        return "".join(line + "\n" for line in (*header, *self.lines))


def _span(start: int | None, count: int) -> str:
    return f"{start or 0}" if count == 1 else f"{start or 0},{count}"


class Replace(Struct, frozen=True):
    """Replace `old` by `new`, whole lines. An empty `old` fills a new or empty file.

    `line` is where `old` is said to begin, from 1; an empty `old` is put before it.
    """

    path: str
    old: str
    new: str
    line: int | None = None


class Patch(Struct, frozen=True):
    """Change a file by hunks, all located in the file as it was; then move it, if `moved_to` is set.

    With `copied`, the file itself stays as it is, and `moved_to` is the changed copy.
    """

    path: str
    hunks: tuple[Hunk, ...]
    moved_to: str | None = None
    mode: int | None = None
    copied: bool = False


class ReplaceString(Struct, frozen=True):
    """Replace `old` by `new`, which may be part of a line; everywhere, if `all_matches`.

    Without an `old`, `new` is all of a file that must be new or empty.
    """

    path: str
    old: str
    new: str
    all_matches: bool = False


class Insert(Struct, frozen=True):
    """Put `text` before a line (from 1); one more than the last is the end of the file."""

    path: str
    line: int
    text: str


class Create(Struct, frozen=True):
    """Add a file that must not exist yet."""

    path: str
    content: str
    mode: int | None = None


class Whole(Struct, frozen=True):
    """The entire new content of a file, whether it exists or not."""

    path: str
    content: str


class Delete(Struct, frozen=True):
    """Remove a file; with `content`, only if it still says that."""

    path: str
    content: str | None = None


Edit = Replace | ReplaceString | Insert | Patch | Create | Whole | Delete
