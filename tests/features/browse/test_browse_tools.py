"""The tool as a model meets it: what is refused before anybody is asked, and what the policy sees."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from counting import count_tokens
from hostile_web import Site, hostile_web
from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.hosts import parse_host
from kith.core.loop import converse
from kith.core.model import Role, Tool
from kith.core.policy import READ_ONLY, TRIAL, UNCONFINED
from kith.core.run import Run, Thread
from kith.core.values import Answer, CallTarget, Question, ToolResult, say
from kith.features.background.tool import BACKGROUND
from kith.features.browse.address import parse_address
from kith.features.browse.cache import Cache
from kith.features.browse.fetching import Reach
from kith.features.browse.offer import offer_tools
from kith.features.browse.searching import Engine
from kith.features.browse.tools import Web
from kith.features.demo.replay import Replay
from kith.models.providers.messages import tool_rows
from kith.settings import find_folders
from kith.trees.local import open_tree


@pytest.fixture
def site() -> Iterator[Site]:
    with hostile_web() as site:
        yield site


@pytest.fixture
def run(tmp_path: Path) -> Run:
    async def no(question: Question) -> Answer:
        return Answer("no")

    (tmp_path / "tree").mkdir()
    tree = open_tree(tmp_path / "tree", tmp_path / "state", tmp_path / "cache")
    return Run(lambda event, path: None, no, tree)


def web(site: Site, folder: Path, **options: Any) -> Tool:
    reach = Reach((parse_host(site.place),), lambda address: False, 10.0)
    return Web(reach, Cache(folder / "pages"), 1_000, **options).tool()


def use(tool: Tool, run: Run, **args: Any) -> ToolResult:
    """Call a tool as the loop does, but for the policy."""
    assert tool.beforehand

    async def both() -> ToolResult:
        assert tool.beforehand
        looked = await tool.beforehand(args, run)
        return ToolResult("", looked.refusal, ok=False) if looked.refusal else await tool.fn(looked.args, run)

    return asyncio.run(both())


def test_the_parts_of_a_page_need_one_request(site: Site, tmp_path: Path, run: Run) -> None:
    tool = web(site, tmp_path)
    first = use(tool, run, url=f"{site.url}/long")
    assert "line 0\n" in first.text and "start=" in first.text
    start = int(first.text.rpartition("start=")[2])
    assert f"line {first.text.count('line ')}" not in first.text
    second = use(tool, run, url=f"{site.url}/long", start=start)
    assert second.ok and "line 0\n" not in second.text
    assert site.asked == ["/robots.txt", "/long"]
    assert "without start" in use(tool, run, url=f"{site.url}/page", start=5).text
    assert site.asked == ["/robots.txt", "/long"]


def test_what_nobody_should_be_asked_about_is_refused_at_once(site: Site, tmp_path: Path, run: Run) -> None:
    tool = web(site, tmp_path, engine=Engine(parse_address(site.url)), tells=lambda text: "hunter2" in text)
    refusals: Mapping[str, dict[str, Any]] = {
        "is an address of this machine or of a private network": {"url": "http://169.254.169.254/"},
        "is no address of a page": {"url": "file:///etc/passwd"},
        "holds a secret": {"url": "https://example.org/?k=h%75nter2"},
        "this holds a secret": {"query": "hunter2"},
        "Give a url": {},
        "or a query": {"url": "https://example.org", "query": "x"},
    }
    for words, args in refusals.items():
        answer = use(tool, run, **args)
        assert not answer.ok and words in answer.text
    assert site.asked == []


def test_the_policy_sees_the_host_and_the_page(site: Site, tmp_path: Path, run: Run) -> None:
    tool = web(site, tmp_path, engine=Engine(parse_address("http://192.168.1.5:8888/x")))
    looked = asyncio.run(tool.beforehand({"url": "Example.ORG/a#b"}, run))  # type: ignore[misc]
    assert tool.target(looked.args) == CallTarget("https://example.org/a", ("example.org",))
    assert tool.target({"query": "words"}) == CallTarget("words", ("192.168.1.5:8888",))
    assert tool.effect_for({"url": "https://example.org"}) == "web"
    assert tool.effect_for({"url": "https://example.org", "start": 9}) == "read"  # from what was kept


def test_pages_are_asked_about_and_planners_read_none() -> None:
    target = CallTarget("https://example.org/", ("example.org",))
    assert [each.decide("web", target) for each in (TRIAL, UNCONFINED, READ_ONLY)] == ["ask", "ask", "deny"]


def test_a_question_names_the_host_also_without_a_sandbox(site: Site, tmp_path: Path, run: Run) -> None:
    asked: list[Question] = []

    async def yes(question: Question) -> Answer:
        asked.append(question)
        return Answer("yes")

    model = Replay(
        "x", [{"calls": [{"name": "web", "args": {"url": f"{site.url}/page#x"}}]}, {"text": "Done."}]
    )
    role = Role("worker", "", model, (web(site, tmp_path),), UNCONFINED)
    tree = open_tree(tmp_path / "tree", tmp_path / "state", tmp_path / "cache", sandbox="off")
    free = replace(run, answerer=yes, workspace=tree)
    thread = Thread("t", (say("Look."),))
    asyncio.run(converse(free, role, thread))
    (question,) = asked
    assert question.text == f"Allow web to reach {site.place}" and question.effect == "web"
    assert question.target == CallTarget(f"{site.url}/page", (site.place,))
    assert "# Install it" in thread.messages[2].results[0].text


def test_both_uses_cost_at_most_90_tokens(site: Site, tmp_path: Path) -> None:
    rows = tool_rows([web(site, tmp_path, engine=Engine(parse_address(site.url)))])
    assert count_tokens("\n" + json.dumps(rows[0])) <= 90


def test_with_background_processes_they_cost_at_most_150_tokens(site: Site, tmp_path: Path) -> None:
    browse = web(site, tmp_path, engine=Engine(parse_address(site.url)))
    rows = tool_rows([BACKGROUND, browse])
    assert count_tokens("".join(f"\n{json.dumps(row)}" for row in rows)) <= 150


# By the settings of a project.


def offered(root: Path, settings: str, **flags: Any) -> tuple[Tool, ...]:
    file = find_folders()[0] / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[browse]\n{settings}\n")
    return offer_tools(Project.open(root, flags), lambda event: None)


def test_it_is_off_until_it_is_switched_on(repository: Path) -> None:
    assert offered(repository, "") == ()
    assert [each.name for each in offered(repository, "on = true")] == ["web"]
    assert offered(repository, "on = true", offline=True) == ()
    assert offered(repository, "on = true", read_only=True) == ()


def test_searching_needs_an_engine(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "query" not in offered(repository, "on = true")[0].schema["properties"]
    (tool,) = offered(repository, 'on = true\nsearch = "http://box:8888"')
    assert tool.target({"query": "x"}).hosts == ("box:8888",)
    monkeypatch.setenv("BRAVE_KEY", "k")
    (tool,) = offered(repository, 'on = true\nengine = "brave"\nkey_env = "BRAVE_KEY"\nmax_bytes = 100000')
    assert tool.target({"query": "x"}).hosts == ("api.search.brave.com",)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('private = ["http://box"]', "browse.private: 'http://box' is no host"),
        ('search = "file:///x"', "browse.search: 'file:///x' is no address of a page"),
        ('engine = "brave"\nkey_env = "NO_SUCH_KEY"', "browse.key_env: the variable NO_SUCH_KEY is not set."),
        ("seconds = 0", "browse.seconds must be at least 1"),
        ("max_bytes = 1", "browse.max_bytes must be at least 10000"),
    ],
)
def test_wrong_settings_are_told_in_one_sentence(repository: Path, settings: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        offered(repository, f"on = true\n{settings}")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_secret_of_the_project_is_not_sent(repository: Path, run: Run) -> None:
    (repository / ".env").write_text("API_KEY=zX9-wq7RtY2-mnB4vC6\n")
    (tool,) = offered(repository, "on = true")
    for spelt in ("zX9-wq7RtY2-mnB4vC6", "zX9%2Dwq7RtY2%2DmnB4vC6"):
        assert "holds a secret" in use(tool, run, url=f"https://example.org/?k={spelt}").text
    looked = asyncio.run(tool.beforehand({"url": "https://github.com/o/r/commit/" + "0f" * 20}, run))  # type: ignore[misc]
    assert not looked.refusal


def test_while_it_is_off_none_of_its_code_is_loaded() -> None:
    code = "import sys, kith.features.browse.offer; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "kith.features.browse.tools" not in loaded
    assert not {"httpx2", "protego", "html_to_markdown"} & {*loaded}
