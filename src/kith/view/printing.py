"""Foreign text, so that it can move no cursor, deceive nobody and push nothing out of sight."""

from kith.core.patterns import lazy_pattern

# What can hide, reorder or join text: marks of direction, what has no width or no glyph, separators of lines,
# selectors of variations, notes on ruby, music's brackets, tags; and halves of a pair.
_HIDDEN = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xDFFF)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
_HIDING = "".join(f"{chr(first)}-{chr(last)}" for first, last in _HIDDEN)
_UNPLAIN = lazy_pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_HIDING}]")
_GAP = lazy_pattern(r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]{41,}")
_EMPTY_LINES = lazy_pattern(r"\n(?:[^\S\n]*\n){4,}")
_LINE, _END = 2_000, 500  # characters of a line that are shown, those at its end among them


def printable(text: str) -> str:
    """Foreign text with everything that could move a cursor or deceive made visible."""
    return _UNPLAIN.sub(lambda found: _spell(found[0]), text)


def on_one_line(text: str) -> str:
    """Foreign text such as a file's name, printable on one line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def whole(text: str) -> str:
    """Foreign text that somebody is to decide about: printable, and nothing in it pushed out of sight."""
    text = _EMPTY_LINES.sub(lambda gap: f"\n[{gap[0].count(chr(10)) - 1:,} empty lines]\n", text)
    return "\n".join(folded(line) for line in printable(text).split("\n"))


def folded(line: str) -> str:
    """A printable line that pushes nothing out of sight: long gaps and long middles as their counts."""
    line = _GAP.sub(lambda gap: f" [{len(gap[0]):,} blanks] ", line)
    if len(line) <= _LINE:
        return line
    left_out = len(line) - _LINE
    return f"{line[: _LINE - _END]} [{left_out:,} characters are not shown] {line[-_END:]}"


def _spell(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
