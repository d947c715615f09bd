"""What looks like a secret: in a text by its form or its name, in a tree by its file's name."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

_NAME: Final = r"(?:secret|passwd|password|passphrase|token|api_?key|access_?key|private_?key|credential)s?"
# A value that is given to something (in code, a file of variables, an address), and what has to end right
# before it: values are rarer than names, so they are looked for. Before each, words of which a text holds one
# wherever it may match: a quick look that spares the search.
_LOOSE: Final = tuple(
    (rule, words, re.compile(value), re.compile(name))
    for rule, words, value, name in (
        (
            "secret with a name",
            ("secret", "passw", "passphrase", "token", "key", "credential"),
            r"(?::=|=>|[=:])\s{0,8}[bru]{0,2}[\"'](?=([^\s\"'\\]{12,200})[\"'])",
            rf"(?i){_NAME}(?:_?(?:id|key|value))?[\"']?\s{{0,8}}\Z",
        ),
        (  # as a tool or a diff shows it, too, behind a number or a mark
            "secret with a name",
            ("SECRET", "PASSWORD", "TOKEN", "KEY"),
            r"(?m)=(?=([^\s\"'$<{(]{12,200})$)",
            r"(?m)(?:^|[-+:\t])(?:export )?[A-Z0-9_]{0,60}"
            r"(?:SECRET|PASSWORD|TOKEN|API_?KEY|ACCESS_KEY)[A-Z0-9_]{0,20}\Z",
        ),
        (
            "password in an address",
            ("://",),
            r"://[^\s/:@\"'<>{}$]{1,60}:(?=([^\s/:@\"'<>{}$]{8,100})@\w)",
            r"(?i)[a-z][a-z0-9+.-]{1,20}\Z",
        ),
    )
)
_BEFORE: Final = 120  # characters before a value in which its name has to end
_PLACEHOLDER: Final = re.compile(r"(?i)example|xxxx|0000|1234567|abcdef|\.\.\.|\*\*\*")
_PLAIN_WORDS: Final = re.compile(
    r"(?i)sample|dummy|fake|placeholder|redacted|change_?me|your|insert|replace|secret|password|test"
)
# Bits a character, at least, of what nobody can guess: by its form a key, by its name perhaps one.
_KEY_BITS: Final = 3.0
_NAMED_BITS: Final = 3.5

# Names of files that hold secrets, in lower case, and endings that make one an example.
SECRET_FILES: Final = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", ".git-credentials", ".dockercfg"),
    *("credentials", "credentials.*", "*credentials.json", "secrets", "secrets.*", "secret.*", "*.tfvars"),
    *("service-account*.json", "service_account*.json", ".vault-token", "kubeconfig", "*.tfstate"),
)
_EXAMPLES: Final = (".example", ".sample", ".template", ".dist", ".defaults", ".pub")
_CODE: Final = (
    *(".py", ".pyi", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".cs"),
    *(".swift", ".c", ".cc", ".cpp", ".h", ".hpp", ".md", ".rst", ".html"),
)


class Span(NamedTuple):
    """Where a secret stands in a text, and which kind it is."""

    start: int
    end: int
    rule: str


def find_secrets(text: str) -> tuple[tuple[int, str], ...]:
    """Where a text holds what looks like a secret: (line from 1, which kind), without the secret itself.

    Known kinds of keys go by their form. Anything else has to be given to a name that says what it is
    (`api_key = "..."`) and to look random; what a placeholder looks like is passed over.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[int, str] = {}
    for span in find_spans(text):
        found.setdefault(bisect_right(starts, span.start), span.rule)
    return tuple(sorted(found.items()))


def find_spans(text: str) -> Iterator[Span]:
    """The same secrets as places in the text, in no order; they may overlap."""
    from kith.context.secret_forms import KEYS  # its many patterns are compiled only where there is need

    for rule, mark, pattern in KEYS:
        if mark in text:
            for match in pattern.finditer(text):
                inside_a_word = text[match.start() - 1 : match.start()].isalnum()
                if not inside_a_word and _is_random(match[0], _KEY_BITS):
                    yield Span(match.start(), match.end(), rule)
    lower = text.lower()
    for rule, words, given, name in _LOOSE:
        within = lower if words[0].islower() else text
        if not any(word in within for word in words):
            continue
        for match in given.finditer(text):
            if not name.search(text, max(0, match.start() - _BEFORE), match.start()):
                continue
            if is_unguessable(match[1]) and not _PLAIN_WORDS.search(match[1]):
                yield Span(match.start(1), match.end(1), rule)


def is_secret_file(path: str, *, ignored: bool = False) -> bool:
    """Whether a file's name says that it holds secrets; source code does so only where git ignores it."""
    name = path.lower().rpartition("/")[2]
    if name.endswith(_EXAMPLES) or (name.endswith(_CODE) and not ignored):
        return False
    return any(fnmatchcase(name, pattern) for pattern in SECRET_FILES)


def is_unguessable(value: str) -> bool:
    """Whether nobody could guess it: no words, path or number, and no placeholder, however long."""
    return _is_mixed(value) and _is_random(value, _NAMED_BITS)


def entropy(value: str) -> float:
    """Shannon's, in bits a character, of the characters as they occur in the value itself."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _is_random(value: str, bits: float) -> bool:
    return not _PLACEHOLDER.search(value) and entropy(value) >= bits


def _is_mixed(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return digits >= 2 and letters >= 4 and value.count("/") + value.count(".") <= 2
