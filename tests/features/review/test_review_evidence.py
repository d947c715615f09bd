"""A claim about a change becomes a finding only when what it stands on is really there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Change, Finding
from kith.features.review.changed_files import Sheet, make_sheets
from kith.features.review.evidence import ThrownOut, as_changes, check_claim, find_quote
from kith.features.review.findings import Claim, merge, read_claims
from kith.features.review.syntax import fault_of_python

BEFORE = """\
import os


def mean(numbers):
    return sum(numbers) / max(len(numbers), 1)


def far(away):
    return away





def last(items):
    return items[-1]
"""
AFTER = BEFORE.replace(
    "    return sum(numbers) / max(len(numbers), 1)\n",
    "    total = sum(numbers)\n    count = len(numbers)\n    return total / count\n",
)
CPP = "int half(int n) {\n  int unused = 1;\n  return n / 2;\n}\n"
PLACE = AFTER.split("\n").index("    return total / count") + 1


def sheets_of(before: str | None, after: str, path: str = "src/a.py") -> dict[str, Sheet]:
    return make_sheets((Change(path, before.encode() if before else None, after.encode()),))


SHEETS = sheets_of(BEFORE, AFTER)


def claim(
    evidence: str = "    return total / count",
    line: int = PLACE,
    why: str = "An empty list divides by zero.",
    path: str = "src/a.py",
    replacement: str | None = None,
) -> Claim:
    return Claim(path, line, "error", why, evidence, replacement)


def kept(claim: Claim, sheets: dict[str, Sheet] = SHEETS) -> Finding:
    checked = check_claim(claim, sheets, "model")
    assert isinstance(checked, Finding), checked
    return checked


def reason(claim: Claim, sheets: dict[str, Sheet] = SHEETS) -> str:
    checked = check_claim(claim, sheets, "model")
    assert isinstance(checked, ThrownOut), checked
    return checked.reason


def test_a_quote_at_its_place_is_evidence() -> None:
    assert kept(claim()) == Finding(
        "src/a.py", PLACE, "error", "review", "An empty list divides by zero.", "model"
    )


@pytest.mark.parametrize(
    "evidence",
    [
        "return total / count",
        f"{PLACE}\t+    return total / count",
        "+    return total / count",
        "return  total / count\n",
        "total / count",
        "    count = len(numbers)\n    return total / count",
    ],
)
def test_how_it_is_quoted_does_not_matter(evidence: str) -> None:
    found = kept(claim(evidence))
    assert PLACE in range(found.line, max(found.line, found.end) + 1)


@pytest.mark.parametrize("line", [0, 1, PLACE - 3, PLACE + 3, 10_000])
def test_a_quote_that_stands_alone_is_moved_to_its_place(line: int) -> None:
    assert kept(claim(line=line)).line == PLACE


def test_a_name_may_be_the_end_of_a_path() -> None:
    assert kept(claim(path="a.py")).path == kept(claim(path="b/src/a.py")).path == "src/a.py"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (claim("    return total // count"), "quotes a line that is not there"),
        (claim("return total / count\nreturn nothing"), "quotes a line that is not there"),
        (claim(""), "quotes no line"),
        (claim("    }"), "quotes no line"),
        (claim("    return away", 11), "about lines that the change does not reach"),
        (claim(path="src/b.py"), "about a file that is not in the change"),
        (claim(path=""), "about a file that is not in the change"),
        (claim(why="`kount` may be zero"), "speaks of kount, which is nowhere in the change"),
        (claim(why="`total` is not defined here"), "says that total is not defined, which it is"),
        (claim(why="The name `len` was never imported"), "says that len is not defined, which it is"),
        (claim(why="The variable `count` is never used"), "says that count is not used, which it is"),
        (claim(why="This is a syntax error"), "says that the syntax is wrong, which parses"),
        (claim(why="There is a missing closing parenthesis"), "says that the syntax is wrong, which parses"),
    ],
)
def test_what_does_not_hold_is_thrown_out(wrong: Claim, why: str) -> None:
    assert reason(wrong) == why


def test_a_quote_in_several_places_needs_a_line_near_one() -> None:
    twice = sheets_of(None, "def one(a):\n    return a / 2\n\n\n\n\n\n\n\n\ndef two(a):\n    return a / 2\n")
    assert kept(claim("    return a / 2", 10), twice).line == 12
    assert "several places" in reason(claim("    return a / 2", 6), twice)


@pytest.mark.parametrize(
    ("after", "evidence", "why"),
    [
        ("def f(a):\n    return a + b\n", "    return a + b", "`b` is not defined"),
        ("def g():\n    b = 1\n\n\ndef f(a):\n    return a + b\n", "    return a + b", "`b` is undefined"),
        ("import os\n\n\ndef f(a):\n    return a\n", "import os", "`os` is unused"),
        (
            "def f(a):\n    b = a\n    return a\n\n\ndef g(b):\n    return b\n",
            "    b = a",
            "`b` is never used",
        ),
        ("from x import *\n\n\ndef f():\n    return b\n", "    return b", "`b` is not defined"),
        ("def f(a:\n    return a\n", "def f(a:", "A missing closing parenthesis"),
    ],
)
def test_what_the_syntax_tree_confirms_stays(after: str, evidence: str, why: str) -> None:
    assert kept(claim(evidence, 1, why), sheets_of(None, after)).text == why


def test_odd_escapes_beside_a_syntax_error_are_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert fault_of_python('x = "\\d"\ndef (:\n') == (2, "invalid syntax")
    assert not recwarn.list


def test_claims_about_cpp_are_held_against_its_tree() -> None:
    sheets = sheets_of(None, CPP, "half.cpp")
    unused = claim("int unused = 1;", 2, "`unused` is never used", "half.cpp")
    assert kept(unused, sheets).line == 2
    wrong = claim("return n / 2;", 3, "The parameter `n` is never used", "half.cpp")
    assert "not used, which it is" in reason(wrong, sheets)
    semicolon = claim("return n / 2;", 3, "There is a missing semicolon", "half.cpp")
    assert "parses" in reason(semicolon, sheets)


# --- suggestions -----------------------------------------------------------------------------


def test_a_suggestion_is_moved_to_its_indentation() -> None:
    found = kept(claim(replacement="```python\nif not count:\n    return 0\nreturn total / count\n```"))
    assert found.replacement == "    if not count:\n        return 0\n    return total / count"


@pytest.mark.parametrize(
    "words",
    ["    return total / (count", "    return total / count  ", "    else:\n        return 0", "```\n```"],
)
def test_a_suggestion_that_breaks_the_file_or_changes_nothing_is_left_away(words: str) -> None:
    assert kept(claim(replacement=words)).replacement is None


def test_a_suggestion_must_leave_cpp_well_formed() -> None:
    sheets = sheets_of(None, CPP, "half.cpp")
    line = claim("return n / 2;", 3, "It rounds.", "half.cpp")
    broken = Claim(line.path, 3, "error", line.why, line.evidence, "return n / 2.0")
    assert kept(broken, sheets).replacement is None
    whole = Claim(line.path, 3, "error", line.why, line.evidence, "return n >> 1;")
    assert kept(whole, sheets).replacement == "  return n >> 1;"


def test_suggestions_become_one_change_that_keeps_line_ends() -> None:
    after = AFTER.replace("\n", "\r\n")
    sheets = sheets_of(BEFORE.replace("\n", "\r\n"), after)
    first = kept(claim(replacement="    return total / max(count, 1)"), sheets)
    other = kept(
        claim("    count = len(numbers)", PLACE - 1, replacement="    count = len(numbers) or 1"), sheets
    )
    meets = kept(
        claim("    count = len(numbers)\n    return total / count", replacement="    return 0"), sheets
    )
    changes, taken = as_changes((first, other, meets), sheets, {"src/a.py": after.encode()})
    assert taken == (first, other)
    (change,) = changes
    wanted = after.replace("total / count", "total / max(count, 1)").replace(
        "len(numbers)\r", "len(numbers) or 1\r"
    )
    assert change.after == wanted.encode()


def test_a_file_that_is_not_what_was_reviewed_is_left_alone() -> None:
    found = kept(claim(replacement="    return 0"))
    assert as_changes((found,), SHEETS, {"src/a.py": BEFORE.encode()}) == ((), ())


# --- what a model writes ---------------------------------------------------------------------

ONE = {"path": "a.py", "line": 3, "severity": "error", "evidence": "x = 1", "why": "wrong"}


@pytest.mark.parametrize(
    "words",
    [
        json.dumps({"findings": [ONE]}),
        json.dumps([ONE]),
        json.dumps(ONE),
        f"Here they are:\n```json\n{json.dumps({'findings': [ONE]}, indent=1)}\n```\nThat is all.",
        json.dumps({"findings": [{**ONE, "line": "3-4"}]}),
        json.dumps(
            {
                "findings": [
                    {"file": "./a.py", "line": 3, "severity": "High", "quote": "x = 1", "comment": "wrong"}
                ]
            }
        ),
        json.dumps({"findings": [ONE]})[:-2] + ', {"path": "b.py',
        json.dumps({"findings": [ONE, {"path": "b.py", "why": "no evidence"}, 7]}),
    ],
)
def test_claims_are_read_however_they_are_written(words: str) -> None:
    claims, fault = read_claims(words)
    assert fault == "" and claims == (Claim("a.py", 3, "error", "wrong", "x = 1"),)


def test_no_findings_is_an_answer_and_no_json_is_none() -> None:
    assert read_claims('{"findings": []}') == ((), "")
    assert read_claims("Looks good to me!")[1]
    assert read_claims('{"findings": [{"path": "a.py"}]}')[1]


# --- the same thing twice --------------------------------------------------------------------


def test_one_rule_may_find_two_names_on_neighbouring_lines() -> None:
    unused = [
        Finding("a.py", line, "warning", "F401", f"`{name}` imported but unused", "ruff", line)
        for line, name in enumerate(("os", "sys"), 1)
    ]
    assert merge(unused) == (tuple(unused), ())


def test_what_a_linter_says_is_not_said_again() -> None:
    linter = Finding("a.py", 3, "error", "F821", "Undefined name `count`", "ruff")
    model = Finding(
        "a.py", 3, "error", "review", "The name `count` is undefined here", "model", 0, "count = 1"
    )
    other = Finding("a.py", 3, "warning", "review", "A negative `size` reads past the end", "model")
    findings, repeated = merge((linter, model, other))
    assert repeated == (model,)
    assert [each.by for each in findings] == ["ruff", "model"]
    assert findings[0].rule == "F821" and findings[0].replacement == "count = 1"


rows = st.lists(st.text("abc ()=:", min_size=1).filter(lambda row: any(map(str.isalnum, row))), min_size=1)


@given(rows, st.data())
def test_a_line_that_is_there_is_found_at_its_place(rows: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(rows)))
    place = find_quote(rows[at - 1], rows, at)
    assert isinstance(place, range) and place.start == at


@given(rows, st.integers(0, 100))
def test_a_line_that_is_not_there_is_never_found(rows: list[str], line: int) -> None:
    assert isinstance(find_quote("    not_in_any_of_them(x)", rows, line), str)
