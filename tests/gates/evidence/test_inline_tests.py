"""The tests that a source of Rust holds itself."""

import pytest

from kith.core.values import Change
from kith.gates.evidence.assertions import keeps_claims
from kith.gates.evidence.changed_tests import find_tampering
from kith.gates.evidence.edited_tests import EditedTests
from kith.gates.evidence.inline_tests import edits_tests, text_of_tests, with_old_tests

CODE = "pub fn total() -> u64 { 3 }\n"
TESTS = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(total(), 3);
    }
}
"""
MORE = TESTS.replace("    #[test]", "    #[test]\n    fn more() {}\n\n    #[test]")


def change(after: str) -> Change:
    return Change("src/lib.rs", (CODE + TESTS).encode(), after.encode())


@pytest.mark.parametrize(
    "tests", [TESTS, f"\npub fn last() {{}}\n{TESTS}", TESTS.replace("    use", "  use")]
)
def test_more_code_edits_no_test(tests: str) -> None:
    assert not edits_tests(change(CODE.replace("3", "4") + tests))


@pytest.mark.parametrize(
    "tests",
    [
        "",
        "\n#[cfg(test)]\nmod tests;\n",
        MORE,
        TESTS.replace("(), 3", "(), 4"),
        TESTS.replace("    #[test]\n", ""),
        TESTS.replace("#[test]", "#[test]\n    #[should_panic]"),
        TESTS.replace("adds() {", "adds() {\n        return;"),
        TESTS.replace("mod tests", "mod others"),
        TESTS.replace("(), 3", "(), 4").replace("\n", "\r\n"),
    ],
)
def test_an_edited_test_is_put_back_and_the_code_stays(tests: str) -> None:
    edited = change(CODE.replace("3", "4") + tests)
    assert edits_tests(edited)
    old = with_old_tests(edited)
    assert old and old.after == (CODE.replace("3", "4") + TESTS).encode()


@pytest.mark.parametrize(
    "form",
    [
        TESTS.replace("cfg(test)", "cfg(all(test, unix))"),
        TESTS.replace("mod tests {", "// one {\nmod tests { // two"),
        TESTS.replace("use super::*;", "const BRACE: char = '}'; // {"),
        "#[cfg(test)]\n#[test]\nfn adds() { assert_eq!(total(), 3); }\n",
        "#[test]\nfn adds() {\n    assert_eq!(total(), 3);\n}\n",
        "mod inner {\n    #[cfg(test)]\n    mod tests { #[test] fn adds() { assert_eq!(total(), 3); } }\n}\n",
        TESTS.replace("\n", "\r\n"),
    ],
)
def test_tests_of_every_form_are_found(form: str) -> None:
    edited = Change("src/lib.rs", (CODE + form).encode(), (CODE + form.replace("(), 3", "(), 4")).encode())
    assert edits_tests(edited) and with_old_tests(edited) is None


def test_code_that_tests_do_not_have_is_code() -> None:
    form = "#[cfg(not(test))]\nfn total() -> u64 { 3 }\n"
    assert not edits_tests(Change("src/lib.rs", form.encode(), form.replace("3", "4").encode()))


@pytest.mark.parametrize("added", ["#[should_panic]", "#[ignore]"])
def test_a_test_that_may_fail_is_weaker_though_it_asserts_the_same(added: str) -> None:
    source = (CODE + TESTS).encode()
    edited = Change("src/lib.rs", source, source.replace(b"#[test]", f"#[test] {added}".encode()))
    assert find_tampering(EditedTests((edited,))).weakened == ("src/lib.rs",)
    assert not keeps_claims(*(text_of_tests("src/lib.rs", side) for side in (source, edited.after)))
