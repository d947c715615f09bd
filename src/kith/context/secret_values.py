"""The secret values that a file of settings, keys or passwords holds, and those of an environment."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kith.context.secrets import is_unguessable

_STRONG: Final = re.compile(
    r"(?i)secret|passw|passphrase|pwd|token|api[_.-]?key|access[_.-]?key|private[_.-]?key|credential|auth[_.-]?key"
)
_WEAK: Final = re.compile(r"(?i)key|auth|dsn|salt|webhook|signature|conn|cookie|session")
# `NAME=value`, `name: value`, `"name": "value",` and the words of .netrc, a line each.
_LINE: Final = re.compile(
    r"""^[\s,{>-]*(?:export\s+|set\s+)?["']?([\w./:@-]*?[\w-])["']?\s*(?:=>|:=|=|:)\s*(.+?)[\s,;]*$"""
)
_PAIR: Final = re.compile(r"""["']?([\w.-]{1,80})["']?\s*(?:=>|:=|=|:)\s*("[^"]*"|'[^']*')""")
_WORDS: Final = re.compile(r"(?i)\b(?:password|passwd|account)\s+(\S+)")
_ADDRESS: Final = re.compile(r"\w://[^\s/:@\"']*:([^\s/@\"']{4,200})@")
_PLAIN: Final = re.compile(
    r"(?i)(?:change_?me|example|sample|placeholder|none|null|true|false|default|password|secret|test|dummy)\w*"
    r"|postgres|postgresql|mysql|mariadb|redis|rabbitmq|minio(?:admin)?|admin|root|guest|docker|localhost"
    # What people give to model servers that want a key and look at none.
    r"|ollama|lm[-_]?studio|llama(?:[-_.]?cpp)?|(?:sk-)?no(?:t|ne)?(?:[-_](?:key|needed|required|used))+|unused"
)
_EXPRESSION: Final = re.compile(r"[(\[\s]|^/|^\w+(?:\.\w+)+$")  # code, or a place
_SHORTEST, _SHORTEST_WEAK = 6, 8  # characters of what is taken out wherever it stands
_DIGITS: Final = 10  # a shorter number stands anywhere
_BARE: Final = 16  # characters of a line that is a key by itself
_LONGEST: Final = 4_096
_MOST: Final = 500  # values of one file


def values_in(text: str, *, sure: bool = True) -> tuple[str, ...]:
    """The secret values that a text holds, each on one line.

    By a name that says so (`DB_PASSWORD`), and in an address (`://user:password@`). In a file that is `sure`
    to hold secrets also what looks random, and lines that are nothing but a key.
    """
    found = dict.fromkeys(value for line in text.splitlines() for value in _values_of(line, sure))
    return tuple(found)[:_MOST]


def is_guarded(key: str) -> bool:
    """Whether a key of the person's is one to keep back, and no word that only stands in place of one."""
    return _counts(key, _SHORTEST)


def values_of_environment(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret, and passwords in addresses."""
    lines = (f"{name}={value}" for name, value in environ.items() if "\n" not in value)
    named = (line for line in lines if _STRONG.search(line.partition("=")[0]) or _ADDRESS.search(line))
    return tuple(dict.fromkeys(value for line in named for value in _values_of(line, sure=False)))


def _values_of(line: str, sure: bool) -> Iterator[str]:
    line = line.strip()
    yield from _ADDRESS.findall(line)
    pairs = _PAIR.findall(line) or _LINE.findall(line)
    yield from (value for name, said in pairs if _is_secret(name, value := _unquoted(said), sure))
    if sure:
        yield from (word for word in _WORDS.findall(line) if _counts(word, _SHORTEST))
    if (
        sure
        and not pairs
        and len(line) >= _BARE
        and not line.startswith(("-----", "#", "//"))
        and " " not in line
    ):
        yield line[:_LONGEST]


def _is_secret(name: str, value: str, sure: bool) -> bool:
    if "://" in value:
        return False
    if _STRONG.search(name):
        return _counts(value, _SHORTEST) and (sure or not _EXPRESSION.search(value))
    if not sure or len(value) < _SHORTEST_WEAK:
        return False
    return is_unguessable(value) or bool(
        _WEAK.search(name) and _counts(value, _SHORTEST_WEAK) and _odd(value)
    )


def _unquoted(value: str) -> str:
    value = value.strip()
    if value[:1] in "\"'`" and value[:1] == value[-1:] and len(value) > 1:
        return value[1:-1]
    return value.partition(" #")[0].strip()[:_LONGEST]


def _counts(value: str, least: int) -> bool:
    short_number = value.isdigit() and len(value) < _DIGITS
    return len(value) >= least and not short_number and not _PLAIN.fullmatch(value) and "${" not in value


def _odd(value: str) -> bool:
    """Whether a value is neither a word nor a name with dots, slashes and dashes."""
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
