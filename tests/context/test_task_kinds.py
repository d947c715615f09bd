"""The kind of a task from its words, on phrasings as people type them."""

import pytest

from kith.context.task_kinds import kind_of

PHRASINGS = {
    "locate": """
where is the retry loop defined?
Where do we parse the command line
which file holds the HTTP client?
find all callers of `open_tree`
locate the code that writes the cache
show me the function that formats dates
can you find where the port is set?
list the modules that import requests
who calls parse_args?
please search for the string "deadline"
""",
    "explain": """
what does normalize() do?
explain how the scheduler picks the next job
Why is the cache cleared on exit?
how does the login work
Could you explain this regular expression
tell me about the module layout
Is this function thread safe?
describe what happens when a request times out
summarize utils.py
walk me through the start-up
Does the parser handle nested quotes?
why does test_parse fail?
give me a summary of this repository
how do I run the tests?
""",
    "plan": """
plan the move to asyncio
How should we store the sessions?
design a plugin interface for exporters
propose an approach for caching thumbnails
write a plan for splitting the service
what is the best way to support two databases?
outline the steps to add OAuth
I want you to come up with a strategy for retries
what would it take to drop Python 3.9
""",
    "write-test": """
write tests for mean()
add a unit test for the empty list
Please add regression tests covering negative numbers
increase the coverage of parser.py
create test cases for the login form
unit tests for src/money.py
we need more tests for the date parser
test the edge cases of slugify
cover the error paths in client.py
""",
    "edit-small": """
fix the off-by-one in mean()
add a --verbose flag
make clamp() accept None
mean() divides by the wrong number
Can you add a timeout to fetch()?
the date is shown in the wrong time zone
change the default port to 8080
handle empty input in parse_line
add a test flag to the command line
find the bug in average and fix it
use a set instead of a list in unique()
Please let the user pass a custom encoding
Crash when the config file is empty
remove the deprecated argument of load()
implement fizzbuzz with tests
run the tests
Add a new endpoint /health and a test for it
""",
    "edit-multi": """
replace print by logging in every module
use pathlib everywhere
add type hints throughout
update all callers of connect() for the new argument
migrate from unittest to pytest
add a version field to models.py, views.py and forms.py
port the scripts to Python 3
add tracing across the code base
""",
    "fix-failing-test": """
test_mean fails
fix the failing tests
make the tests pass
tests/test_utils.py::test_clamp is failing since yesterday
CI is red, repair it
the test suite no longer passes
get test_login green
two tests are broken after the upgrade
FAILED tests/test_a.py::test_b - assert 1 == 2
please fix the flaky test in test_io.py
""",
    "refactor": """
refactor the parser
rename Foo to Bar
extract the validation into its own function
split utils.py into smaller modules
move the constants to settings.py
clean up the imports
simplify this function without changing behaviour
remove the duplication between load and save
deduplicate the two readers
""",
    "docs": """
update the README
add docstrings to utils.py
document the configuration options
fix the typo in the docs
write a changelog entry for the release
add comments to the scheduler
improve the documentation of the API
the README is outdated
""",
    "commit-message": """
write a commit message
suggest a commit message for the staged changes
summarize the staged diff
commit message please
""",
}
CASES = [(kind, line) for kind, lines in PHRASINGS.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("kind", "words"), CASES)
def test_a_phrasing_is_of_its_kind(kind: str, words: str) -> None:
    assert kind_of(words) == kind


def test_a_purpose_may_say_it_all() -> None:
    assert kind_of("add a flag", purpose="plan") == "plan"
    assert kind_of("add a flag", purpose="test") == "write-test"
    assert kind_of("add a flag", purpose="implement") == "edit-small"


def test_many_files_make_an_edit_a_large_one() -> None:
    assert kind_of("add a flag", files=2) == "edit-small"
    assert kind_of("add a flag", files=3) == "edit-multi"


def test_code_that_is_quoted_does_not_say_what_is_wanted() -> None:
    words = "this prints twice:\n```\n# where is the test that fails?\n```\nprint once"
    assert kind_of(words) == "edit-small"
