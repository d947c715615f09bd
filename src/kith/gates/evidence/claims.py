"""What the text of a test claims, so that an adapted test can be told from one that claims something else."""

import re
from typing import Final

# What a test claims: values, comparisons, assertions, kinds of errors. Names may change as the code's do.
_CLAIMS: Final = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b\d[\w.]*|[=!<>]=|(?<![-=<])[<>](?![=<>])"
    r"|\b(?:not|in|is|None|True|False|true|false|null|nullptr)\b"
    r"|\b(?:assert\w*|(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*|\w+(?:Error|Exception|Warning))\b"
)
# Where a test may end early, or bear what went wrong.
_WAYS_OUT: Final = re.compile(r"\b(?:return|if|except|catch|suppress|skip\w*|xfail|exit)\b", re.I)


def keeps_claims(old: str, new: str) -> bool:
    """Whether all that a test claims is still claimed, in the same order and without new ways out of it."""
    if len(_WAYS_OUT.findall(new)) > len(_WAYS_OUT.findall(old)):
        return False
    rest = iter(_claims(new))
    return all(claim in rest for claim in _claims(old))


def _claims(text: str) -> list[str]:
    return [re.sub(r"^'(.*)'$", r'"\1"', claim) for claim in _CLAIMS.findall(text)]
