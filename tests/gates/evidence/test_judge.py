"""Prepared projects before the judge: no regression is accepted, and right changes are."""

from pathlib import Path

import pytest

import attacked_projects
import blocked_projects
import command_projects
import cpp_projects
import nested_projects
import python_projects
import tampering_projects
import uncollected_projects
from prepared import Project, Try, judge_all

PROJECTS: tuple[Project, ...] = (
    *python_projects.PROJECTS,
    *tampering_projects.PROJECTS,
    *attacked_projects.PROJECTS,
    *blocked_projects.PROJECTS,
    *command_projects.PROJECTS,
    *cpp_projects.PROJECTS,
    *uncollected_projects.PROJECTS,
    *nested_projects.PROJECTS,
)
# More than two seconds each: with the slow tests, but for the one that has something of all.
DEAR = {
    *("node --test with rows", "tests of a program that starts in its folder", "the runner is missing"),
    *("tests beside a package that has its own", "a manifest at the top with settings of a linter"),
    *("a package in a folder, tested from the top", "a Makefile that does not name its sources"),
    "an exit code that must not get worse",
    *("the wanted fix is a red test", "a test is deleted", "tests are left out by settings"),
    *("a test is weakened or altered", "a red test that is made to go away", "a test is skipped"),
    *("skipped and expected to fail before", "a named suite that is the goal", "an import that now works"),
    *("one of several red tests is wanted", "a request that gives no leave", "tests are renamed or moved"),
    *(
        "a plugin of the runner is missing",
        "node --test",
        "node --test among linters",
        "data that a test names",
        "a service refuses",
    ),
    *("a module of others is missing in one test", "a command that was red and may stay so"),
    *("data of a submodule are not there", "the network is not there", "ids that are made at random"),
    *("a compiled extension is not built", "warnings are errors", "tests that depend on their order"),
    *("a test that fails sometimes", "a red test that is helped from outside", "an unrelated red test"),
    *("a test that fails at random", "two tests become a table", "unittest with the wanted fix"),
    *("another failure in and beside what is touched", "a src layout hides behind an older version"),
    *("an assertion that becomes an error", "a required package that nobody installed"),
    "a test of a caller is altered",
    *("a table of parameters is altered", "new tests that the command does not collect"),
    *("the first tests of a project", "new tests that unittest does not discover"),
    *("a required package, and no tests", "a required package of a check that is a script"),
    *("a command that does more than to run tests", "make test", "an exit code that is the goal"),
    *("a command whose other half fails now", "a module of others is missing everywhere"),
    *("an exit code, green before", "sources that know that they are tested"),
    "an exit code that is 0 with failures that tests count which use the change",
    "linters stand before the tests of a Makefile",
}
pytestmark = pytest.mark.usefixtures("sandbox")


def _named(project: Project) -> object:
    marks = [pytest.mark.slow] if project.slow or project.name in DEAR else []
    return pytest.param(project, id=project.name.replace(" ", "-"), marks=marks)


@pytest.mark.parametrize("project", [_named(each) for each in PROJECTS])
def test_every_change_gets_its_verdict(project: Project, tmp_path: Path) -> None:
    found = zip(project.tries, judge_all(project, tmp_path), strict=True)
    amiss = {each.name: fault for each, judged in found if (fault := judged.differs_from(each))}
    assert not amiss


def _tries(kind: str) -> list[Try]:
    return [each for project in PROJECTS for each in project.tries if each.kind == kind]


def test_each_dear_project_is_there() -> None:
    assert {project.name for project in PROJECTS} >= DEAR


def test_there_are_forty_projects() -> None:
    assert len(PROJECTS) >= 40 and len({each.name for each in PROJECTS}) == len(PROJECTS)


def test_no_regression_is_accepted() -> None:
    assert not [each.name for each in _tries("wrong") if each.end == "applied"]


def test_right_changes_are_accepted() -> None:
    tries = [each for each in _tries("right") if each.reason != "uninstalled"]  # these wait for a package
    assert sum(each.end == "applied" for each in tries) >= 0.95 * len(tries)


def test_useless_changes_are_never_proven_or_held() -> None:
    assert {each.grade for each in _tries("useless")} == {"unproven"}
