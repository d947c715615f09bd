"""Text as rows that keep every byte: split at newlines only, each with its own terminator."""

from collections.abc import Sequence

from kith.edits.forms import EditError

BOM = "\ufeff"


def decode(content: bytes) -> str:
    """Bytes as text; what is not UTF-8 survives as surrogate escapes."""
    return content.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`. Raises EditError for characters that no file can hold."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise EditError(f"The text holds half a character (U+{code:04X}), which no file can hold.") from None


def split_rows(text: str) -> list[str]:
    """Rows with their newlines; only the last may lack one.

    Never `str.splitlines`: that also splits at form feeds, U+0085 and U+2028.
    """
    rows = [row + "\n" for row in text.split("\n")]
    last = rows.pop()[:-1]
    return [*rows, last] if last else rows


def split_keys(text: str) -> list[str]:
    """The rows of a text without their terminators."""
    return keys_of(text.split("\n"), "\r" in text)


def keys_of(rows: list[str], returns: bool) -> list[str]:
    """The same for a text that was split at its newlines; `returns`: it has carriage returns."""
    rows = rows if rows[-1] else rows[:-1]
    return [row.removesuffix("\r") for row in rows] if returns else rows


def terminator(rows: Sequence[str], file: Sequence[str]) -> str:
    """The terminator that most of `rows` have, or most of the file when they are undecided."""
    for sample in (rows, file):
        ended = [row for row in sample if row.endswith("\n")]
        crlf = sum(row.endswith("\r\n") for row in ended)
        if crlf * 2 != len(ended):
            return "\r\n" if crlf * 2 > len(ended) else "\n"
    return "\n"


def is_binary(content: bytes) -> bool:
    """True when the content is not text (it holds a NUL byte)."""
    return b"\0" in content
