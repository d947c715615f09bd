"""Find likely secrets: in a text, by a file's name, and the values in a file of secrets."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from kith.core.patterns import lazy_pattern

_NAME: Final = r"(?:secret|passwd|password|passphrase|token|api_?key|access_?key|private_?key|credential)s?"
# A value that is given to something (in code, a file of variables, an address), and what has to end right
# before it: values are rarer than names, so they are looked for. Before each, words of which a text holds one
# wherever it may match: a quick look that spares the search.
_LOOSE: Final = tuple(
    (rule, words, lazy_pattern(value), lazy_pattern(name))
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
# Each rule, what a text holds wherever it may match (a quick look that spares the search), and the pattern.
# Sources: what each provider documents of its tokens' form.
_KEY_FORMS: Final = (
    ("age secret key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("Anthropic key", "sk-ant-", r"sk-ant-[a-z]{3,5}\d\d-[\w-]{32,}"),
    ("AWS access key", "AKIA", r"AKIA[A-Z2-7]{16}"),
    ("AWS access key", "ASIA", r"ASIA[A-Z2-7]{16}"),
    ("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}"),
    ("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{27,}"),
    ("GitHub token", "gh", r"gh[oprsu]_[A-Za-z0-9]{36,}"),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|agent|imt|oas)-[\w-]{20,}"),
    ("Google API key", "AIza", r"AIza[\w-]{35}"),
    ("Google OAuth secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
    ("Google OAuth token", "ya29.", r"ya29\.[\w-]{30,}"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{48,}"),
    ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{34,}"),
    ("JSON Web Token", "eyJ", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("OpenAI key", "T3BlbkFJ", r"sk-[\w-]{20,}T3BlbkFJ[\w-]{20,}"),
    ("OpenAI key", "sk-proj-", r"sk-proj-[\w-]{40,}"),
    ("OpenRouter key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    ("PyPI token", "pypi-", r"pypi-AgE[\w-]{50,}"),
    ("SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("Slack token", "xox", r"xox[abeoprs]-(?:\d+-)+[A-Za-z0-9-]{16,}"),
    ("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{32,}"),
    ("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{8,}/B\w{8,}/\w{20,}"),
    ("Stripe key", "k_live_", r"[rs]k_live_[0-9A-Za-z]{24,}"),
    ("Stripe webhook secret", "whsec_", r"whsec_[0-9A-Za-z+/]{32,}"),
    ("Telegram bot token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
    ("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    ("Vault token", "hvs.", r"hvs\.[\w-]{90,}"),
    (
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+,\\])*"
        r"(?:(?:Proc-Type|Version|Comment): [^\n]*\n[^-]{0,200})?[A-Za-z0-9+/]{40,}",
    ),
)
_BEFORE: Final = 120  # characters before a value in which its name has to end
_PLACEHOLDER: Final = lazy_pattern(r"(?i)example|xxxx|0000|1234567|abcdef|\.\.\.|\*\*\*")
_PLAIN_WORDS: Final = lazy_pattern(
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


class SecretSpan(NamedTuple):
    """The place and kind of a secret in a text."""

    start: int
    end: int
    rule: str


def find_secrets(text: str) -> tuple[tuple[int, str], ...]:
    """Find likely secrets in a text: (line from 1, kind), without the secret itself.

    Known kinds of keys are found by their form. Any other value must be given to a telling name
    (`api_key = "..."`) and look random. Placeholders are skipped.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[int, str] = {}
    for span in find_spans(text):
        found.setdefault(bisect_right(starts, span.start), span.rule)
    return tuple(sorted(found.items()))


def find_spans(text: str) -> Iterator[SecretSpan]:
    """The same secrets as places in the text, in no order; they may overlap."""
    for rule, mark, form in _KEY_FORMS:
        if mark in text:
            for match in re.finditer(form, text):  # compiled when a text first may hold one
                inside_a_word = text[match.start() - 1 : match.start()].isalnum()
                if not inside_a_word and _is_random(match[0], _KEY_BITS):
                    yield SecretSpan(match.start(), match.end(), rule)
    lower = text.lower()
    for rule, words, given, name in _LOOSE:
        within = lower if words[0].islower() else text
        if not any(word in within for word in words):
            continue
        for match in given.finditer(text):
            if not name.search(text, max(0, match.start() - _BEFORE), match.start()):
                continue
            if is_unguessable(match[1]) and not _PLAIN_WORDS.search(match[1]):
                yield SecretSpan(match.start(1), match.end(1), rule)


def is_secret_file(path: str, *, ignored: bool = False) -> bool:
    """True if a file's name suggests secrets; for source code only where git ignores it."""
    name = path.lower().rpartition("/")[2]
    if name.endswith(_EXAMPLES) or (name.endswith(_CODE) and not ignored):
        return False
    return any(fnmatchcase(name, pattern) for pattern in SECRET_FILES)


def is_unguessable(value: str) -> bool:
    """True if a value cannot be guessed: no words, path, number or placeholder, however long."""
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


# The secret values that a file of settings, keys or passwords holds, and those of an environment.

_STRONG: Final = lazy_pattern(
    r"(?i)secret|passw|passphrase|pwd|token|api[_.-]?key|access[_.-]?key|private[_.-]?key|credential|auth[_.-]?key"
)
_WEAK: Final = lazy_pattern(r"(?i)key|auth|dsn|salt|webhook|signature|conn|cookie|session")
# `NAME=value`, `name: value`, `"name": "value",` and the words of .netrc, a line each.
_LINE: Final = lazy_pattern(
    r"""^[\s,{>-]*+(?:export\s+|set\s+)?["']?([\w./:@-]*?[\w-])["']?\s*+(?:=>|:=|=|:)\s*+(.+)$"""
)
_PAIR: Final = lazy_pattern(r"""["']?([\w.-]{1,80})["']?\s*(?:=>|:=|=|:)\s*("[^"]*"|'[^']*')""")
_WORDS: Final = lazy_pattern(r"(?i)\b(?:password|passwd|account)\s+(\S+)")
_ADDRESS: Final = lazy_pattern(r"\w://[^\s/:@\"']*:([^\s/@\"']{4,200})@")
_PLAIN: Final = lazy_pattern(
    r"(?i)(?:change_?me|example|sample|placeholder|none|null|true|false|default|password|secret|test|dummy)\w*"
    r"|postgres|postgresql|mysql|mariadb|redis|rabbitmq|minio(?:admin)?|admin|root|guest|docker|localhost"
    # What people give to model servers that want a key and look at none.
    r"|ollama|lm[-_]?studio|llama(?:[-_.]?cpp)?|(?:sk-)?no(?:t|ne)?(?:[-_](?:key|needed|required|used))+|unused"
)
_EXPRESSION: Final = lazy_pattern(r"[(\[\s]|^/|^\w+(?:\.\w+)+$")  # code, or a place
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
    """True if a person's key must be redacted, and is not just a placeholder."""
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
    value = value.strip().rstrip(" \t,;")
    if value[:1] in "\"'`" and value[:1] == value[-1:] and len(value) > 1:
        return value[1:-1]
    return value.partition(" #")[0].strip()[:_LONGEST]


def _counts(value: str, least: int) -> bool:
    short_number = value.isdigit() and len(value) < _DIGITS
    return len(value) >= least and not short_number and not _PLAIN.fullmatch(value) and "${" not in value


def _odd(value: str) -> bool:
    """True if a value is neither a word nor a name with dots, slashes and dashes."""
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
