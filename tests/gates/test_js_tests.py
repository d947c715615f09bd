"""Tests of jest and vitest: rows of tables are told from other tests, by the titles of their files."""

import json
from collections.abc import Collection

import pytest

from kith.core.values import Change, Ran
from kith.gates.evidence.assertions import keeps_claims
from kith.gates.evidence.changed_tests import Claims, compare_older, find_tampering
from kith.gates.evidence.compare import compare, find_renewed
from kith.gates.evidence.edited_tests import EditedTests
from kith.gates.js_tests import beside_tests, find_js, find_titles, name_test, pattern_of, title_of
from kith.gates.reports import CaseResult, ProjectPaths, SuiteReport
from kith.gates.results.report_commands import SOURCES
from kith.gates.runners.javascript import js_sources, read_js
from kith.gates.toolchain import Toolchain, narrow
from runners import RUNNERS

PATH = "src/sum.test.ts"
SOURCE = """\
import { add, sub } from './sum'; // test('commented out', () => {})

test.each<Row>([
  [1, 1, 2],
  [1, 2, 3],
])('add(%i, %i) is %i', (a, b, want) => {
  expect(add(a, b)).toBe(want);
});

describe.each([{ a: 3, b: 2, want: 1 }])('sub of $a and $b', ({ a, b, want }) => {
  it("gives the difference", () => expect(sub(a, b)).toBe(want));
  it.each`
    x    | y
    ${1} | ${1}
  `('keeps $x = $y', ({ x, y }) => expect(x).toBe(y));
});

for (const n of [1, 2]) test(`halves ${n}`, () => expect(n / 2).toBeLessThan(n));

test('plain [one]', () => expect(add(1, 1)).toBe(2));
"""
ROWS = ["add(%i, %i) is %i[1, 1, 2]", "add(%i, %i) is %i[1, 2, 3]"]
DIFFERENCE = "sub of $a and $b > gives the difference[3, 2]"
REPORT = {  # as jest 30 and vitest 4 write it, without what kith does not read
    "testResults": [
        {
            "name": f"/p/{PATH}",
            "assertionResults": [
                {"ancestorTitles": suites, "title": title, "fullName": " ".join([*suites, title])}
                | {"status": "passed"}
                for suites, title in (
                    ([], "add(1, 1) is 2"),
                    ([], "add(1, 2) is 3"),
                    (["sub of 3 and 2"], "gives the difference"),
                    (["sub of 3 and 2"], "keeps 1 = 1"),
                    ([], "halves 1"),
                    ([], "plain [one]"),
                )
            ],
        }
    ]
}
FILES = {"jest.json": json.dumps(REPORT).encode(), f"{SOURCES}{PATH}": SOURCE.encode()}
PLACE = ProjectPaths("/p", frozenset({PATH}))


def cases(source: str = SOURCE) -> tuple[str, ...]:
    return tuple(case.id for case in read_js({**FILES, f"{SOURCES}{PATH}": source.encode()}, PLACE))


def ids(*names: str) -> list[str]:
    return [f"{PATH}::{name}" for name in names]


def report(passed: Collection[str], failed: Collection[str] = ()) -> SuiteReport:
    found = [*(CaseResult(id, "passed") for id in passed), *(CaseResult(id, "failed", "no") for id in failed)]
    return SuiteReport(Ran("jest", int(bool(failed)), "", 1.0), tuple(found))


def edited(*pairs: tuple[str, str]) -> EditedTests:
    text = SOURCE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return EditedTests((Change("src/sum.ts", b"a", b"b"), Change(PATH, SOURCE.encode(), text.encode())))


def test_rows_of_tables_have_the_title_of_their_file() -> None:
    rest = ["sub of $a and $b > keeps $x = $y[3, 2, 1, 1]", "halves ${n}[1]", "plain [one]"]
    assert cases() == tuple(ids(*ROWS, DIFFERENCE, *rest))
    assert js_sources(FILES, PLACE) == [PATH]
    assert cases("") == tuple(
        ids("add(1, 1) is 2", "add(1, 2) is 3", "sub of 3 and 2 > gives the difference")
        + ids("sub of 3 and 2 > keeps 1 = 1", "halves 1", "plain [one]")
    )


def test_a_file_names_its_tests_and_what_they_share() -> None:
    assert [part.name for part in find_js(SOURCE.encode())] == [
        "add(%i, %i) is %i",
        "sub of $a and $b > gives the difference",
        "sub of $a and $b > keeps $x = $y",
        "halves ${n}",
        "plain [one]",
    ]
    shared = beside_tests(SOURCE.encode())
    assert "want: 1" in shared and "[1, 2, 3]" not in shared and "commented out" in shared


@pytest.mark.parametrize(
    "source", ["test.each([", "test.each`", "it('a", "describe(", "`" * 9, "it.each([1])("]
)
def test_what_does_not_end_holds_no_test(source: str) -> None:
    assert find_js(source.encode()) == () and find_titles(source.encode()) == find_titles(b"")


@pytest.mark.parametrize(
    ("only", "run"),
    [
        (ids(ROWS[0]), r"npx jest -t '^(add\(.*, .*\) is .*)$'"),
        (ids(ROWS[0], ROWS[1]), r"npx jest -t '^(add\(.*, .*\) is .*)$'"),
        (ids(DIFFERENCE), "npx jest -t '^(sub of .* and .* (?:> )?gives the difference)$'"),
        (ids("plain [one]"), r"npx jest -t '^(plain \[one\])$'"),
        (ids("says %s[a, b]"), "npx jest -t '^(says .*.*)$'"),  # a value with a comma
        ([PATH], f"npx jest {PATH}"),
    ],
)
def test_a_row_runs_again_with_its_table(only: list[str], run: str) -> None:
    assert narrow(Toolchain("jest", "", "", "npx jest", RUNNERS["jest"]), only).run == run


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("make add(1, 2) is 3 pass", [ROWS[1]]),
        ("make 'add(%i, %i) is %i' pass", ROWS),
        ("the test 'gives the difference' fails", [DIFFERENCE]),
        (f"fix the failing tests in {PATH}", [*ROWS, DIFFERENCE, "plain [one]"]),
        ("make add() quicker", []),
    ],
)
def test_a_request_names_a_row_a_table_or_a_file(request_: str, wanted: list[str]) -> None:
    known = [*ROWS, DIFFERENCE, "plain [one]"]
    assert [name for name in known if Claims(request_).want(f"{PATH}::{name}")] == wanted
    assert Claims("remove the test 'gives the difference'").allow(f"{PATH}::{DIFFERENCE}")


def test_a_row_with_other_values_is_the_same_table() -> None:
    before, after = report(ids(*ROWS)), report(ids(ROWS[0], "add(%i, %i) is %i[1, 2, 4]"))
    gone = ids(ROWS[1])
    assert find_renewed(gone, before, after) == set(gone)
    assert not find_renewed(gone, before, report(ids(ROWS[0])))
    assert compare(before, report(ids(ROWS[0])), ()).lost == set(gone)


def test_a_file_that_loads_at_last_is_fixed() -> None:
    before = SuiteReport(Ran("jest", 1, "", 1.0), (CaseResult(PATH, "error", "no such module"),))
    assert compare(before, report(ids(*ROWS)), ()).fixed == set(ids(*ROWS))


@pytest.mark.parametrize(
    ("pair", "id", "renamed"),
    [
        (("add(%i, %i) is %i", "%i + %i = %i"), ROWS[0], True),
        (("gives the difference", "subtracts"), DIFFERENCE, True),
        (("  [1, 2, 3],\n", ""), "sub of $a and $b > gone[3, 2]", False),
    ],
)
def test_a_renamed_test_is_found(pair: tuple[str, str], id: str, renamed: bool) -> None:
    assert edited(pair).is_renamed(f"{PATH}::{id}") is renamed


@pytest.mark.parametrize(
    ("pair", "altered"),
    [
        (("[1, 2, 3]", "[1, 2, 3], [2, 2, 4]"), []),
        (("add(a, b)", "sum(a, b)"), []),
        (("toBe(want);\n});\n\ndesc", "toBeTruthy();\n});\n\ndesc"), ROWS),
        (("[1, 2, 3]", "[1, 2, 4]"), ROWS),  # one test with all its rows
        (("want: 1 }", "want: 2 }"), [DIFFERENCE, *ROWS]),  # shared: the whole file counts
    ],
)
def test_edited_rows_are_held_against_the_change(pair: tuple[str, str], altered: list[str]) -> None:
    passed = report(ids(*ROWS, DIFFERENCE))
    found = compare_older(passed, passed, report([], ids(*ROWS, DIFFERENCE)), edited(pair))
    assert found.altered == set(ids(*altered))


@pytest.mark.parametrize("id", ["sub of 3 and 2 gives the difference", "made up by a loop"])
def test_a_test_that_no_file_shows_counts_as_its_whole_file(id: str) -> None:
    passed, unedited = report([id]), report([], [id])
    assert compare_older(passed, passed, unedited, edited(("[1, 2, 3]", "[1, 2, 4]"))).altered == {id}
    assert compare_older(passed, passed, unedited, edited(("add(a", "sum(a"))).adapted == {id}


def test_names_and_titles_belong_together() -> None:
    known = find_titles(b"function made() { it.each([{ b: 2 }])('%s of $b', check); }")
    name = name_test(["suite", "1 of 2"], known)
    assert (name, title_of(name)) == ("suite > %s of $b[1, 2]", "1 of 2")
    assert title_of("suite > parses [a]") == "parses [a]" and pattern_of("a.b") == r"a\.b"


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("expect(f(1)).toBe(a)", "expect(f(1)).toBeTruthy()", False),
        ("expect(f(1)).not.toBe(a)", "expect(f(1)).not.toBeNull()", False),
        ("await expect(f(1)).rejects.toThrow()", "await expect(f(1)).rejects.toBeDefined()", False),
        ("assert.strictEqual(f(1), a)", "assert.ok(f(1), a)", False),
        ("expect(f(1)).toBe(a)", "expect(g(1)).toBe(b)", True),
        ("expect(f(1)).toBe(a)", "expect(f(1)).toBe(a); expect(f(2)).toBe(b)", True),
    ],
)
def test_another_matcher_is_another_claim(old: str, new: str, kept: bool) -> None:
    assert keeps_claims(old, new) is kept


def test_places_are_those_of_the_bytes() -> None:
    source = "/* ä */ describe('é', () => { it('ö', () => expect(1).toBe(1)); });\n".encode()
    (part,) = find_js(source)
    assert source[part.start : part.end].decode() == "it('ö', () => expect(1).toBe(1))"
    assert (part.name, part.asserts) == ("é > ö", True)


@pytest.mark.parametrize(
    "piece", ["`\\", ",/[", ",/a", "test ", "test<", "/*a", "describe('a', () => {", "test.each(["]
)
def test_endless_text_is_read_in_one_pass(piece: str) -> None:
    """A pattern that goes back would take minutes."""
    assert not find_js(piece.encode() * 40_000)
    assert not find_js(b"test" + piece[-1].encode() * 40_000)


MATHS = """\
describe('math', () => {
  it('adds', () => { expect(1 + 1).toBe(2); });
  it('zero is even', () => { expect(even(0)).toBe(true); });
  it.each([2, 4])('%i is even', (n) => { expect(even(n)).toBe(true); });
  it.each(['a', 'b'])('%s', (n) => { expect(n).toBeTruthy(); });
  it('costs $x', () => { expect(cost()).toBe(1); });
});
describe.each(['adds', 'subs'])('%s', (name) => {
  it('ends', () => { expect(run(name)).toBe(0); });
  it(`costs $x in ${name}`, () => { expect(run(name)).toBe(0); });
});
"""


@pytest.mark.parametrize(
    ("titles", "name"),
    [
        (["math", "adds"], "math > adds"),
        (["math", "zero is even"], "math > zero is even"),
        (["math", "2 is even"], "math > %i is even[2]"),
        (["math", "a"], "math > %s[a]"),
        (["math", "costs $x"], "math > costs $x"),
        (["adds", "ends"], "%s > ends[adds]"),
        (["math", "ends"], "math > %s[ends]"),
        (["other", "zero"], "other > zero"),
        (["subs", "costs $x in subs"], "%s > costs $x in ${name}[subs, $x, subs]"),
        ([], ""),
    ],
)
def test_a_title_that_stands_in_the_file_comes_before_templates(titles: list[str], name: str) -> None:
    known = find_titles(MATHS.encode())
    assert name_test(titles, known) == name
    assert not titles or title_of(name) == titles[-1]


def test_a_suite_and_a_test_do_not_share_their_titles() -> None:
    known = find_titles(b"describe.each([1])('in %s', () => {}); it.each([1])('of %s', check);")
    assert name_test(["of 1", "in 1"], known) == "of 1 > in 1"
    assert name_test(["in 1", "of 1"], known) == "in 1 > of %s[1]"  # a suite without tests is none


@pytest.mark.parametrize(
    ("only", "run"),
    [
        (["a.test.js::%s[a]"], "npx jest a.test.js"),
        (["a.test.js::%s > $name[a, b]", "b.test.js::adds"], "npx jest a.test.js b.test.js"),
        (["a.test.js::%s[a]", "adds"], "npx jest"),
        (["a.test.js::math > %s[a]"], "npx jest -t '^(math (?:> )?.*)$'"),
        (["a.test.js::%i + %i[1, 2]"], r"npx jest -t '^(.* \+ .*)$'"),
    ],
)
def test_a_title_without_text_selects_its_file(only: list[str], run: str) -> None:
    assert narrow(Toolchain("jest", "", "", "npx jest", RUNNERS["jest"]), only).run == run


@pytest.mark.parametrize(
    "code",
    [
        r"expect(u()).toMatch(/^https:\/\//);",
        r"const a = /[/(]\//, b = [/'/, /`/];",
        r"return /\(/.test(a) && !/\)/.test(b);",
        r"all((each) => /\(/.test(each));",
        "\n  /[(]/.test(a);",
        "expect(a / 2).toBe(b) // it's half (",
        "const { a } = b; a = (b) / 2 // (",
        "render(<A b={1} />); // (",
        "render(\n<A\n b={c}\n/>); // (",
        "const half = (a\n  / 2) // (",
    ],
)
def test_regular_expressions_hide_no_tests(code: str) -> None:
    inside = f"  it('a', () => {{ {code}\n }});\n  it('b', () => {{}});\n"
    source = f"describe('url', () => {{\n{inside}}});\nit('c', f);"
    assert [part.name for part in find_js(source.encode())] == ["url > a", "url > b", "c"]


TWICE = """\
describe('price', () => {
  it('works', () => { expect(price(1)).toBe(2); });
  it('works', () => { expect(price(10)).toBe(18); });
});
"""
WORKS = "price.test.js::price > works"


def of_twice(old: str, new: str, code: bool = True) -> EditedTests:
    assert old in TWICE
    change = Change("price.test.js", TWICE.encode(), TWICE.replace(old, new, 1).encode())
    return EditedTests((change, Change("price.js", b"a", b"b")) if code else (change,))


@pytest.mark.parametrize(
    ("old", "new", "altered"),
    [
        ("toBe(18)", "toBeGreaterThan(0)", True),
        ("toBe(2)", "toBeGreaterThan(0)", True),
        ("  it('works', () => { expect(price(10)).toBe(18); });\n", "", True),
        ("price(10)", "priceOf(10)", False),
        ("'works', () => { expect(price(10))", "'bulk', () => { expect(price(10))", False),
    ],
)
def test_tests_of_one_title_count_together(old: str, new: str, altered: bool) -> None:
    passed, unedited = report([WORKS]), report([], [WORKS])
    tests = of_twice(old, new)
    assert (WORKS in compare_older(passed, passed, unedited, tests).altered) is altered
    assert bool(find_tampering(tests).weakened) is ("expect" not in new and "  it" in old)


def test_tests_of_one_title_may_get_names_of_their_own() -> None:
    old = TWICE.partition("\n")[2]
    both = old.replace("works", "single", 1).replace("works", "bulk")
    assert of_twice(old, both).is_renamed(WORKS)
    assert not of_twice(old, both.replace("toBe(18)", "toBeTruthy()")).is_renamed(WORKS)
    assert not find_tampering(of_twice(old, both)).weakened


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("add(%i, %i) is %i", "%s %s %s", ROWS[0]),
        ("sub of $a and $b", "$a less $b", DIFFERENCE),  # the title of a suite claims nothing
    ],
)
def test_a_table_with_another_title_is_the_same(old: str, new: str, gone: str) -> None:
    tests = edited((old, new))
    assert not tests.blind and tests.is_renamed(f"{PATH}::{gone}")
    assert not find_tampering(tests).weakened


def test_many_tables_and_brackets_take_little_work() -> None:
    """Each template is split once, and of a name few brackets are looked at."""
    source = "".join(f"it.each([1])('{at} %s {'x' * 500}', f);\n" for at in range(300))
    known = find_titles(source.encode())
    assert name_test([f"7 a {'x' * 500}"], known) == f"7 %s {'x' * 500}[a]"
    assert title_of("%s %s" + "[" * 100_000 + "]").startswith("%s %s")
