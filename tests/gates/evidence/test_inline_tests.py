"""The tests that a source of Rust holds itself."""

import pytest

from kith.core.values import Change
from kith.gates.evidence.inline_tests import edits_tests, with_old_tests

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
    "tests", [TESTS, MORE, f"\npub fn last() {{}}\n{TESTS}", TESTS.replace("    use", "  use")]
)
def test_more_code_and_more_tests_edit_no_test(tests: str) -> None:
    assert not edits_tests(change(CODE.replace("3", "4") + tests))


@pytest.mark.parametrize("tests", ["", TESTS.replace("(), 3", "(), 4"), TESTS.replace("    #[test]\n", "")])
def test_an_edited_test_is_put_back_and_the_code_stays(tests: str) -> None:
    edited = change(CODE.replace("3", "4") + tests)
    assert edits_tests(edited)
    old = with_old_tests(edited)
    assert old and old.after == (CODE.replace("3", "4") + TESTS).encode()
