"""Commits as requests: which of them ask for something, and what a list of places says."""

import pytest

from kith.core.git import Commit
from kith.features.plan.measure import choose_requests, place_of, request_of, summarise


@pytest.mark.parametrize(
    "message",
    [
        "Merge branch 'x' into main of the project",
        "Release 1.2.3 with many fixes inside",
        "Fix lint",
        "Close the pager in src/click/termui.py before unlinking",
        "Handle empty lines in parser.py properly",
        "Bump the version of the parser library",
    ],
)
def test_what_is_no_request_is_left_out(message: str) -> None:
    assert request_of(message) == ""


def test_references_and_trailers_are_not_part_of_a_request() -> None:
    message = "Close the pager before unlinking (#3778)\n\nFixes: #12\nSigned-off-by: A <a@b>\n"
    assert request_of(message) == "Close the pager before unlinking"


def test_requests_have_one_to_three_source_files() -> None:
    def made(name: str, *paths: str) -> Commit:
        return Commit(name, 1, "Close the pager before unlinking", paths)

    commits = [
        made("a", "a.py"),
        made("b", "a.py", "b.py", "c.py", "d.py"),
        made("c", "docs/a.md"),
        made("d", "z.py"),
    ]
    chosen = choose_requests(commits, {"a.py", "b.py", "c.py", "d.py"}, 5)
    assert [each.commit for each in chosen] == ["a"] and chosen[0].files == {"a.py"}


def test_places_are_summarised() -> None:
    assert place_of(("a", "b", "c"), frozenset({"b", "c"})) == 2 and place_of(("a",), frozenset({"z"})) == 0
    found = summarise([1, 2, 0, 10])
    assert (found.requests, found.top, found.reciprocal) == (4, 0.5, 0.4)
    assert summarise([]).requests == 0
