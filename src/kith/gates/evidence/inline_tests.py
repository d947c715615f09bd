"""Tell the tests that a source file of Rust holds from its code."""

import re
from typing import Final

from msgspec.structs import replace

from kith.core.values import Change

_TEST: Final = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*(?:test|rstest|proptest)\b)")
# A module of tests at the top of a source. As rustfmt has it, it ends with a brace in the first column.
_MODULE: Final = re.compile(
    r"^#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*(?:pub(?:\([^)\n]*\))? )?mod \w+ \{$.*?^\}$", re.M | re.S
)


def holds_tests(path: str, text: str) -> bool:
    """True if a source has tests of its own."""
    return path.endswith(".rs") and bool(_TEST.search(text))


def edits_tests(change: Change) -> bool:
    """True if a change alters or removes lines of the tests that its source had; more tests are no edit."""
    return with_old_tests(change) is not None


def with_old_tests(change: Change) -> Change | None:
    """The change of a source's code alone, with its tests as they were; None where it leaves them so."""
    if not change.path.endswith(".rs") or change.before is None or change.after is None:
        return None
    then, now = (side.decode("utf-8", "surrogateescape") for side in (change.before, change.after))
    old, new = (list(_MODULE.finditer(text)) for text in (then, now))
    present = iter(_lines(new))
    if all(line in present for line in _lines(old)):  # each behind the one before
        return None
    code = _MODULE.sub("", now).rstrip("\n")
    text = "\n\n".join([code, *(module[0] for module in old)]) + "\n"
    return replace(change, after=text.encode("utf-8", "surrogateescape"))


def _lines(modules: list[re.Match[str]]) -> list[str]:
    return [line for module in modules for each in module[0].splitlines() if (line := each.strip())]
