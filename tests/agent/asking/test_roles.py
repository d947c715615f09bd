"""Roles are data: what a file says is what a role may do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.agent.asking.roles import find_role, role_names
from kith.agent.roles import hold_to, make_role, read_role
from kith.core.errors import UsageError
from kith.core.values import CallTarget, Effect, Sampling
from kith.features.demo.replay import Replay
from kith.settings import Settings
from kith.tools import standard_tools

NOBODY = Replay("nobody", [])


@pytest.mark.parametrize("name", role_names())
def test_every_shipped_role_names_tools_that_exist(name: str) -> None:
    known = {tool.name for tool in standard_tools(powershell="pwsh")} | {
        "symbols",
        "models",
        "delegate",
        "skill",
    }
    spec = find_role(name)
    assert known.issuperset(spec.tools) and known.issuperset(spec.small_tools)


@pytest.mark.parametrize(
    ("role", "effect", "target", "decision"),
    [
        ("architect", "read", "src/a.py", "allow"),
        ("architect", "write", "src/a.py", "deny"),
        ("architect", "exec", "ls", "deny"),
        ("spec-author", "write", "tests/test_a.py", "allow"),
        ("spec-author", "write", "test_a.py", "allow"),
        ("spec-author", "write", "src/a.py", "deny"),
        ("spec-author", "exec", "pytest", "allow"),
        ("implementer", "write", "src/a.py", "allow"),
        ("implementer", "write", "tests/test_a.py", "deny"),
        ("implementer", "write", "src/conftest.py", "deny"),
    ],
)
def test_what_a_role_may_do(role: str, effect: Effect, target: str, decision: str) -> None:
    made = make_role(find_role(role), NOBODY, standard_tools(), Sampling())
    assert made.policy.decide(effect, CallTarget(target)) == decision


def test_without_a_sandbox_every_command_is_asked_about() -> None:
    for name in ("worker", "spec-author", "implementer"):
        made = make_role(find_role(name), NOBODY, standard_tools(), Sampling(), confined=False)
        assert made.policy.decide("exec", CallTarget("pytest")) == "ask"
        assert "every command" in made.system


def test_the_users_own_role_takes_the_place_of_kiths(tmp_path: Path) -> None:
    chosen = Settings(config=tmp_path)
    chosen.roles.mkdir()
    (chosen.roles / "reviewer.md").write_text(
        "---\npurpose: review\nmodel: ollama/qwen3:32b\ntools: read\npolicy: read-only\n---\nBe brief.\n"
    )
    spec = find_role("reviewer", chosen)
    assert (spec.model, spec.tools, spec.words) == ("ollama/qwen3:32b", ("read",), "Be brief.\n")
    assert find_role("refiner", chosen) == find_role("refiner")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Be brief.", "x.md: it should begin with purpose, tools, policy between two lines of ---."),
        ("---\npurpose: a\ntools:\npolicy: all\n---\nb", "x.md, line 4: policy must be one of "),
        ("---\npurpose: a\ntool: b\ntools:\npolicy: trial\n---\nb", "x.md, line 3: a role has no 'tool'; "),
        ("---\npurpose: a\ntools:\npolicy: trial\n---\n", "x.md: there are no words below the second ---."),
    ],
)
def test_a_role_that_is_not_well_written_names_the_line(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        read_role("x", text)
    assert str(error.value).startswith(sentence)


@given(st.text())
def test_any_text_is_a_role_or_one_sentence(text: str) -> None:
    try:
        read_role("x", text)
    except UsageError as error:
        assert "\n" not in str(error).strip() or "\n" in text


def test_a_projects_worker_may_still_name_the_tool_that_lists() -> None:
    kith = find_role("worker")
    text = "---\npurpose: edit\ntools: {tools}\npolicy: trial\n---\nWords.\n"
    assert hold_to(kith, read_role("worker", text.format(tools="read, list, done"))).tools[1] == "list"
    with pytest.raises(UsageError, match="may not have teleport;"):
        hold_to(kith, read_role("worker", text.format(tools="read, list, teleport")))
