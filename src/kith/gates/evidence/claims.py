"""What the text of a test claims, so that an adapted test can be told from one that claims something else."""

import re
from typing import Final

# What a test claims: values, comparisons, assertions, kinds of errors. Names may change as the code's do.
_CLAIMS: Final = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b\d[\w.]*|[=!<>]=|(?<![-=<])[<>](?![=<>])"
    r"|\b(?:not|in|is|None|True|False|true|false|null|nullptr)\b"
    r"|\b(?:assert\w*|(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*|\w+(?:Error|Exception|Warning))\b"
)
SKIP: Final = re.compile(
    r"\bskip\w*\b|\bxfail\b|\bexpectedFailure\b|\bDISABLED_|\bGTEST_SKIP\b|\[!?\.?(?:hide|mayfail|shouldfail)\]|"
    r"\b(?:xit|xdescribe|xtest)\s*\(|#\[ignore\b|\bt\.Skip",
    re.I,
)
# Where a test may end early, bear what went wrong, or claim the opposite.
_WAYS_OUT: Final = re.compile(r"\b(?:return|if|except|catch|suppress|exit|not)\b|!(?!=)", re.I)


def keeps_claims(old: str, new: str) -> bool:
    """Whether all that a test claims is still claimed, in the same order and without new ways out of it."""
    if any(len(out.findall(new)) > len(out.findall(old)) for out in (SKIP, _WAYS_OUT)):
        return False
    rest = iter(_claims(new))
    return all(claim in rest for claim in _claims(old))


def _claims(text: str) -> list[str]:
    return [re.sub(r"^'(.*)'$", r'"\1"', claim) for claim in _CLAIMS.findall(text)]
