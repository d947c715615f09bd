"""The gate against secrets: nothing that opens a door is written into a file."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final

from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.gates.changed import changed_lines

_NAME: Final = r"(?:secret|passwd|password|passphrase|token|api_?key|access_?key|private_?key|credential)s?"
# A name that says what it holds, and a value: in code, in a file of variables, in an address.
_LOOSE: Final = (
    (
        "secret with a name",
        rf"(?i){_NAME}(?:_?(?:id|key|value))?[\"']?\s{{0,8}}(?::=|=>|[=:])\s{{0,8}}"
        r"[bru]{0,2}[\"']([^\s\"'\\]{12,200})[\"']",
    ),
    (
        "secret with a name",
        r"(?m)^(?:export )?[A-Z0-9_]{0,60}(?:SECRET|PASSWORD|TOKEN|API_?KEY|ACCESS_KEY)[A-Z0-9_]{0,20}="
        r"([^\s\"'$<{(]{12,200})$",
    ),
    (
        "password in an address",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>{}$]{1,60}:([^\s/:@\"'<>{}$]{8,100})@\w",
    ),
)
_PLACEHOLDER: Final = re.compile(r"(?i)example|xxxx|0000|1234567|abcdef|\.\.\.|\*\*\*")
_PLAIN_WORDS: Final = re.compile(
    r"(?i)sample|dummy|fake|placeholder|redacted|change_?me|your|insert|replace|secret|password|test"
)
# Bits a character, at least, of what nobody can guess: by its form a key, by its name perhaps one.
_KEY_BITS: Final = 3.0
_NAMED_BITS: Final = 3.5
_LETTER: Final = (
    "Your change writes what looks like a secret into a file:\n\n{}\n\nTake it out. Code reads a secret "
    "from the environment or a file outside the repository; a test uses an obvious placeholder."
)


def secrets_gate() -> Gate:
    """Refuses a change that adds a line with a secret; the secret is never repeated."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        found = [(change.path, line, rule) for change in changes for line, rule in _added_secrets(change)]
        told = "\n".join(f"{path}:{line}: {rule}" for path, line, rule in found)
        return Verdict(not found, _LETTER.format(told) if found else "", "secrets")

    return judge


def find_secrets(text: str) -> tuple[tuple[int, str], ...]:
    """Where a text holds what looks like a secret: (line from 1, which kind), without the secret itself.

    Known kinds of keys go by their form. Anything else has to be given to a name that says what it is
    (`api_key = "..."`) and to look random; what a placeholder looks like is passed over.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[int, str] = {}
    for at, rule in (*_known(text), *_named(text)):
        found.setdefault(bisect_right(starts, at), rule)
    return tuple(sorted(found.items()))


def entropy(value: str) -> float:
    """Shannon's, in bits a character, of the characters as they occur in the value itself."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _known(text: str) -> Iterator[tuple[int, str]]:
    from kith.gates.secret_forms import KEYS  # its many patterns are compiled only when something changed

    for rule, mark, pattern in KEYS:
        if mark in text:
            for match in pattern.finditer(text):
                inside_a_word = text[match.start() - 1 : match.start()].isalnum()
                if not inside_a_word and _is_random(match[0], _KEY_BITS):
                    yield match.start(), rule


def _named(text: str) -> Iterator[tuple[int, str]]:
    for rule, pattern in _LOOSE:
        for match in re.finditer(pattern, text):
            value = match[1]
            if _is_mixed(value) and not _PLAIN_WORDS.search(value) and _is_random(value, _NAMED_BITS):
                yield match.start(1), rule


def _is_random(value: str, bits: float) -> bool:
    return not _PLACEHOLDER.search(value) and entropy(value) >= bits


def _is_mixed(value: str) -> bool:
    """Words, paths and numbers are not random, however long they are."""
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return digits >= 2 and letters >= 4 and value.count("/") + value.count(".") <= 2


def _added_secrets(change: Change) -> Iterator[tuple[int, str]]:
    found = find_secrets((change.after or b"").decode("utf-8", "replace"))
    if found:
        lines = changed_lines(change)
        yield from ((line, rule) for line, rule in found if line in lines)
