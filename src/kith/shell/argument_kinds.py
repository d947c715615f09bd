"""Check arguments and flag values by their kind; each check says why a text does not fit."""

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from kith.context.secrets import is_secret_file
from kith.shell.parse import Word

_NOWHERE: Final = ("-", "/dev/null")
# Lines by their numbers, by a plain pattern, or both ends of a range; then `p`, `=`, or (alone) `q`.
_LINE: Final = r"(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])+/)"
_SED: Final = re.compile(rf"\s*(?:{_LINE}(?:,(?:\+?\d+|{_LINE}))?)?[p=]\s*|\s*\d+q\s*")
_FIELD: Final = r"(?:\$(?:\d+|NF)|NR|NF)"
_TEST_OF_LINE: Final = r"(?:NR *(?:==|[<>]=?) *\d+|/(?:[^/\\\n])+/)"
_AWK: Final = re.compile(
    rf" *(?:{_TEST_OF_LINE}(?: *&& *{_TEST_OF_LINE})? *)?"
    rf"(?:\{{ *print(?: +{_FIELD}(?:(?: *, *| +){_FIELD})*)? *;? *\}})? *"
)
# Modules, other programs' variables, and what jq finds out about itself.
_JQ_REACHES: Final = re.compile(
    r"\b(?:import|include|modulemeta|env|get_search_list|input_filename)\b|\$\s*(?:ENV|__)"
)
_SETS: Final = re.compile(r"%[^a-zA-Z%]*[hjlLtz]*n")  # printf's, with its flags, widths and sizes
_UNDEREFERENCED: Final = re.compile(r"-[fdeshLrwx]")


Below = Literal["", "seen", "all"]  # of what is in a folder: nothing, what is not hidden, everything


class Read(Struct, frozen=True):
    """A path of the tree that is looked at, with what is below it. `glob`: it stands for several."""

    path: str
    glob: bool = False
    below: Below = ""


def fault_of(kind: str, word: Word) -> str:
    """Explain to a person why a word is not of this kind; "" when it is."""
    return _KINDS[kind](word)


def is_path(kind: str) -> bool:
    """True if words of this kind name files of the tree."""
    return kind in ("PATH", "REV", "TRACKED")


def path_fault(word: Word) -> str:
    """Explain why a path leads out of the tree, or to private files in it; "" when it does not."""
    text, parts = word.text, word.text.split("/")
    if text in _NOWHERE:
        return ""
    if text.startswith(("/", "~")) or ".." in parts:
        return f"{text} leads out of this folder"
    if any(part.casefold().startswith(".git") and not _is_git_list(part) for part in parts):
        return f"{text} is git's own"
    hidden = word.glob and any(part.startswith(".") and set(part) & set("*?") for part in parts)
    if is_secret_file(text) or hidden:
        return f"{text} may hold secrets"
    return ""


def _is_git_list(part: str) -> bool:
    """`.gitignore` and the like, which lie in the tree; a pattern may mean anything."""
    return part in (".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".github", ".gitlab-ci.yml")


def test_reads(words: Sequence[Word]) -> tuple[Read, ...] | str:
    """The paths that `test` looks at, or why it is not one of the few tests that only look.

    `-v NAME[...]` and arithmetic run the text in brackets, so they are not among them.
    """
    texts = [word.text for word in words]
    if texts[:1] == ["!"]:
        texts, words = texts[1:], words[1:]
    if any(word.glob for word in words):
        return "a glob in it can become several words"
    if len(words) == 3 and texts[1] in ("=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        return ()
    if len(words) == 2 and texts[0] in ("-n", "-z"):
        return ()
    if len(words) == 2 and _UNDEREFERENCED.fullmatch(texts[0]):
        return path_fault(words[1]) or (Read(texts[1]),)
    return "that test is not known as read-only"


def _text(word: Word) -> str:
    """A glob in a pattern is the shell's, not the program's: only one that begins plainly is a text."""
    return (
        "" if not word.glob or word.text[:1] not in "*?" else f"{word.text} means names of files to the shell"
    )


def _matching(pattern: str, words: str) -> Callable[[Word], str]:
    compiled = re.compile(pattern)

    def fault(word: Word) -> str:
        return "" if compiled.fullmatch(word.text) and not word.glob else f"{word.text} is {words}"

    return fault


def _sed(word: Word) -> str:
    scripts = re.split(r"[;\n]", word.text) if "/" not in word.text else [word.text]
    plain = not word.glob and all(_SED.fullmatch(each) for each in scripts)
    return "" if plain else "a sed script may do more than print lines"


def _awk(word: Word) -> str:
    plain = not word.glob and word.text.strip() and _AWK.fullmatch(word.text)
    return "" if plain else "an awk program may do more than print fields"


def _jq(word: Word) -> str:
    return "a jq filter may read more than its input" if word.glob or _JQ_REACHES.search(word.text) else ""


def _pretty(word: Word) -> str:
    """`%G` has signatures checked, by a program that the repository names."""
    return (
        f"{word.text} has signatures checked" if re.search(r"%[-+ ]?G|%\(\*?sig", word.text) else _text(word)
    )


def _printf(word: Word) -> str:
    sets = word.text.startswith("-") or word.glob or _SETS.search(word.text)
    return f"{word.text} sets a variable" if sets else ""


def _revision(word: Word) -> str:
    """A revision, a range or a path: none of them leads out, and what is private is so in every commit."""
    text = word.text
    if ":" in text.strip(":"):
        return _revision(Word(text.rpartition(":")[2], word.glob))
    if ".." in text.split("/") or text.startswith(("/", "~")):
        return f"{text} leads out of this folder"
    return path_fault(word)


_KINDS: Final[dict[str, Callable[[Word], str]]] = {
    "PATH": path_fault,
    "TRACKED": path_fault,
    "REV": _revision,
    "TEXT": _text,
    "ANY": lambda word: "",
    "SED": _sed,
    "AWK": _awk,
    "JQ": _jq,
    "PRETTY": _pretty,
    "FORMAT": _printf,
    "NUMBER": _matching(r"[+-]?\d{1,12}[bkKmMGTB]{0,3}", "no number"),
    "FIGURE": _matching(r"[+-]?\d{1,9}(?:\.\d{1,9})?", "no number"),
    "WORD": _matching(r"[\w:,.+=@-]{0,80}", "no plain word"),
    "NAME": _matching(r"[A-Za-z_][\w.+-]{0,80}", "no plain name"),
    "DATE": _matching(r"\+.*", "a date to set, perhaps"),
}
