"""Know how comments begin in each language."""

from typing import Final

from kith.context.source import DASHED, HASHED, MARKED_UP

_MARKS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(HASHED.split(), ("#",)),
    **dict.fromkeys(DASHED, ("--",)),
    **dict.fromkeys(MARKED_UP, ("<!--",)),
    **dict.fromkeys(("HTML", "Svelte", "Vue"), ("<!--", "{#", "{{--", "//", "/*")),
    **dict.fromkeys(("Clojure", "Lisp", "Assembly"), (";", "#")),
    **dict.fromkeys(("Erlang", "LaTeX"), ("%",)),
    "CSS": ("/*", "//"),
    "Fortran": ("!",),
    "INI": ("#", ";"),
    "Nix": ("#", "/*"),
    "OCaml": ("(*",),
    "PHP": ("//", "#", "/*"),
    "Pascal": ("//", "{", "(*"),
    "SQL": ("--", "/*", "#"),
    "Text": ("#",),
    "HCL": ("#", "//", "/*"),
    "Visual Basic": ("'",),
    "reStructuredText": ("..",),
    "Jupyter": (),
    "": ("#", "//", "--", ";", "/*", "<!--"),
}


_SLASHES: Final = ("//", "/*")


def comment_marks(language: str) -> tuple[str, ...]:
    """The beginnings of comments in a language ("": unknown, then the usual ones)."""
    return _MARKS.get(language, _SLASHES)
