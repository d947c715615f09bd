"""Which names a source text uses: its identifiers, those in comments and plain strings left out."""

import re
from collections import Counter
from posixpath import splitext
from typing import Final

_NAME = r"([^\W\d]\w++)(?![\"'])"  # a name of one letter tells nothing; a quote makes it a prefix
# A string may lack its end: then it ends with its line, and a long one with the text.
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_LONG_DOUBLE = r'"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?'
_LONG_SINGLE = r"'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?"
_CHARACTER = r"'(?:\\[^'\n]{1,10}|[^'\\\n])'"  # only one: a lifetime or a group of digits opens no string
_FORMATTED = rf"\b[rR]?[fFtT][rR]?({_LONG_DOUBLE}|{_LONG_SINGLE}|{_DOUBLE}|{_SINGLE})"
_BLOCK_COMMENT, _LINE_COMMENT, _HASH = r"/\*(?:[^*]|\*(?!/))*(?:\*/)?", r"//[^\n]*", r"#[^\n]*"


def _pattern(*left_out: str) -> re.Pattern[str]:
    """What is left out, or else a name. All between two of these is passed over in one leap."""
    return re.compile(rf"(?>[^\w\"'#/]*)(?:{_NAME}|{'|'.join(left_out)})", re.DOTALL)


_PYTHON: Final = _pattern(_HASH, _FORMATTED, _LONG_DOUBLE, _LONG_SINGLE, _DOUBLE, _SINGLE)
_HASHED: Final = _pattern(_HASH, _DOUBLE, _SINGLE)
_SCRIPT: Final = _pattern(_LINE_COMMENT, _BLOCK_COMMENT, _DOUBLE, _SINGLE)
_CURLY: Final = _pattern(_LINE_COMMENT, _BLOCK_COMMENT, _DOUBLE, _CHARACTER)
_FAMILIES: Final = {
    **dict.fromkeys((".py", ".pyi", ".pyw", ".pyx"), _PYTHON),
    **dict.fromkeys((".bash", ".cmake", ".jl", ".pl", ".pm", ".r", ".rb", ".sh", ".zsh"), _HASHED),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".php", ".vue", ".svelte"), _SCRIPT),
}
_INSERTED: Final = re.compile(r"\{([^{}]+)")  # what a formatted string holds of code


def find_references(path: str, text: str) -> Counter[str]:
    """How often a text uses each name, its own definitions among them.

    One pass of a regular expression, about 20 MB a second: what is a string and what a comment is told by the
    file's ending, and where a language is subtler than that, a name more or less is found.
    """
    pattern = _FAMILIES.get(splitext(path)[1].lower(), _CURLY)
    if pattern is not _PYTHON:
        return Counter(filter(None, pattern.findall(text)))
    names = list[str]()
    for name, formatted in pattern.findall(text):
        if name:
            names.append(name)
        elif formatted:
            for code in _INSERTED.findall(formatted):
                names += filter(None, _CURLY.findall(code))
    return Counter(names)
