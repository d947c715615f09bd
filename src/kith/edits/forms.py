"""The values a reply is turned into: what the model wants done to which file."""

from dataclasses import dataclass


class EditError(ValueError):
    """Nothing was changed. The text is a letter to the model: what did not fit, and what to send again."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One contiguous piece of a diff.

    `lines` keep their sign (" ", "-", "+", or "\\\\" for "no newline at end of file") and no newline.
    `start` and `new_start` are line numbers, from 1; None where the diff does not say, or is not to be
    trusted. `anchors` are lines that stand above the piece; `at_end` says that it closes the file.
    A piece that is no text (a mode, a binary file) has git's words for it as its lines.
    """

    lines: tuple[str, ...]
    start: int | None = None
    new_start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> tuple[str, ...]:
        """The lines as they should stand in the file."""
        return tuple(line[1:] for line in self.lines if line[:1] in (" ", "-"))

    @property
    def new(self) -> tuple[str, ...]:
        """The lines as they will stand in the file."""
        return tuple(line[1:] for line in self.lines if line[:1] in (" ", "+"))

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


@dataclass(frozen=True, slots=True)
class Replace:
    """Put `new` where `old` stands, whole lines. An empty `old` fills a new or empty file.

    `line` is where `old` is said to begin, from 1.
    """

    path: str
    old: str
    new: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """Change a file by hunks, all located in the file as it was; then move it, if `moved_to` is set."""

    path: str
    hunks: tuple[Hunk, ...]
    moved_to: str | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Add a file that must not exist yet."""

    path: str
    content: str
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """The entire new content of a file, whether it exists or not."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a file; with `content`, only if it still says that."""

    path: str
    content: str | None = None


Edit = Replace | Patch | Create | Whole | Delete
