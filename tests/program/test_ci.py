"""A branch reviewed in CI, end to end: the steps of the action and of the GitLab jobs, run as they stand."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge_server import TOKEN, StandInForge, StandInTalk, over_http
from kith.features.forges import ForgesSettings
from places import ROOT
from reviewing import BETTER, DIVIDES, change, finding, replay

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
CI = ROOT / "examples" / "ci"
GITLAB: dict[str, Any] = yaml.safe_load((CI / "gitlab-review.yml").read_text())
MORE = "\n\ndef first(items):\n    return items[0]\n\n\ndef last(items=[]):\n    return items[-1]\n"
CLAIMS = [
    finding(replacement=BETTER),
    finding(line=15, evidence="    return items[0]", why="An empty list has no first item."),
]
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)")


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def diff_lines(folder: Path) -> dict[str, dict[int, int | None]]:
    """The lines that git's diff from main shows, as a forge knows them."""
    shown: dict[str, dict[int, int | None]] = {}
    path, old, new = "", 0, 0
    for line in git(folder, "diff", "main...HEAD").splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
        elif path and line[:1] in (" ", "+"):
            shown.setdefault(path, {})[new] = old if line[0] == " " else None
            old, new = old + (line[0] == " "), new + 1
        elif line[:1] == "-":
            old += 1
    return shown


class Pipeline:
    """A pull request of the small repository, whose base is main, on one forge."""

    def __init__(self, kind: str, url: str, folder: Path, talk: StandInTalk, home: Path) -> None:
        self.kind, self.url, self.folder, self.talk, self.temp = kind, url, folder, talk, home / "runner"
        self.temp.mkdir()

    def push(self) -> None:
        self.talk.head, self.talk.lines = commit(self.folder, "more"), diff_lines(self.folder)

    def review(self, *replies: Any, code: int) -> str:
        model = replay(self.folder, *replies)
        return self._github(model, code) if self.kind == "github" else self._gitlab(model, code)

    def _run(self, script: str, env: dict[str, str], code: int | None = 0) -> str:
        here = {name: value for name, value in os.environ.items() if not name.startswith("KITH_GIT")}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env={**here, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **env},
            capture_output=True,
            text=True,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def _github(self, model: str, code: int) -> str:
        """The steps of the action, with what the runner puts for each expression."""
        known = {
            "inputs.kith": "",
            "inputs.base || (github.base_ref && format('origin/{0}', github.base_ref))": "main",
            "inputs.model": model,
            "inputs.fail-on": "error",
            "inputs.sandbox": "auto",
            "inputs.token": TOKEN,
            "github.server_url": self.url,
            "github.event.pull_request.html_url": f"{self.url}/team/project/pull/7",
        }
        said = ""
        for step in ACTION["runs"]["steps"]:
            outputs = self.temp / "outputs"
            outputs.write_text("")
            env = {name: known[text[4:-3]] for name, text in step.get("env", {}).items()}
            env |= {"RUNNER_TEMP": str(self.temp), "GITHUB_OUTPUT": str(outputs)}
            ends = step["name"] == "Say how it ended"
            said += self._run(step["run"], env, code if ends else 0)
            for line in outputs.read_text().splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
        return said

    def _gitlab(self, model: str, code: int) -> str:
        said, project = "", f"{self.url}/team/project"
        common = {"CI_MERGE_REQUEST_PROJECT_URL": project, "CI_MERGE_REQUEST_IID": "7"}
        common |= {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_SERVER_URL": self.url}
        common |= {"CI_COMMIT_SHA": self.talk.head}
        for name in ("kith-review", "kith-comment"):
            job, env = GITLAB[name], {**common, "KITH_MODEL": model}
            if name == "kith-comment":  # its environment alone has the token
                env |= {"KITH_GITLAB_TOKEN": TOKEN, "KITH_FORGES_GITLAB": self.url}
            said += self._run("\n".join(job["script"]), env, code if name == "kith-review" else 0)
        return said

    @property
    def places(self) -> list[tuple[str, int]]:
        return [(each["path"], each["line"]) for each in self.talk.comments]


@pytest.fixture(params=["github", "gitlab"])
def pipeline(request: pytest.FixtureRequest, repository: Path, home: Path) -> Iterator[Pipeline]:
    kind = request.param
    git(repository, "remote", "add", "origin", str(repository))
    git(repository, "checkout", "-qb", "side")
    talk = StandInTalk("", {}, bot=kind == "github")
    forge = StandInForge(kind, talk=talk)
    with over_http(forge.answer) as url:
        yield Pipeline(kind, url, repository, talk, home)


@pytest.mark.slow
def test_a_branch_is_reviewed_and_a_push_adds_only_what_is_new(pipeline: Pipeline) -> None:
    change(pipeline.folder, more=MORE)
    pipeline.push()
    pipeline.review(CLAIMS, code=1)
    assert sorted(pipeline.places) == [("utils.py", 6), ("utils.py", 15), ("utils.py", 18)]
    (summary,) = pipeline.talk.notes
    assert "3 findings" in summary["body"] and pipeline.talk.head[:12] in summary["body"]
    assert sum("suggestion" in each["body"] for each in pipeline.talk.comments) == 1

    file = pipeline.folder / "utils.py"
    text = file.read_text().replace(DIVIDES, BETTER).replace('"""Small', '"""Very small')
    file.write_text(f"{text}\n\ndef third(items):\n    return items[2]\n")
    pipeline.push()
    again = finding(line=15, evidence="    return items[0]", why="It fails for an empty list.")
    third = finding(line=23, evidence="    return items[2]", why="Two items have no third.")
    pipeline.review([again, third], code=1)
    assert sorted(pipeline.places)[-1] == ("utils.py", 23) and len(pipeline.places) == 4
    (summary,) = pipeline.talk.notes
    assert "3 findings" in summary["body"] and "1 earlier finding is gone" in summary["body"]
    assert pipeline.talk.head[:12] in summary["body"]


@pytest.mark.slow
def test_configuration_of_the_branch_is_not_trusted(pipeline: Pipeline) -> None:
    folder = pipeline.folder / ".kith"
    folder.mkdir()
    marker = pipeline.temp / "ran"
    hook = f"[[hooks]]\non = 'start'\ncommand = 'touch {marker}'\n"
    (folder / "config.toml").write_text(f"check = ['touch {marker}']\n{hook}")
    change(pipeline.folder)
    pipeline.push()
    pipeline.review([finding()], code=1)
    assert not marker.exists() and pipeline.places == [("utils.py", 6)]


@pytest.mark.slow
def test_a_broken_configuration_of_the_branch_stops_nothing(pipeline: Pipeline) -> None:
    folder = pipeline.folder / ".kith"
    folder.mkdir()
    (folder / "config.toml").write_text("model = [")
    change(pipeline.folder)
    pipeline.push()
    pipeline.review([finding()], code=1)
    assert pipeline.places == [("utils.py", 6)]


def test_expressions_stand_in_no_script() -> None:
    steps = [each["run"] for each in ACTION["runs"]["steps"]]
    for name in ("review-comments.yml", "review-forks.yml"):
        job = yaml.safe_load((CI / name).read_text())["jobs"]["review"]
        steps += [each["run"] for each in job["steps"] if "run" in each]
    assert steps and not any("${{" in each for each in steps)


def test_the_token_is_with_the_step_that_comments_alone() -> None:
    having = [each["name"] for each in ACTION["runs"]["steps"] if "token" in str(each.get("env", {})).lower()]
    assert having == ["Comment"]
    for name in ("review-comments.yml", "review-forks.yml"):
        job = yaml.safe_load((CI / name).read_text())["jobs"]["review"]
        checkout, review = job["steps"]
        assert checkout["with"]["persist-credentials"] is False
        assert set(review["with"]) <= set(ACTION["inputs"])


def test_a_fork_is_reviewed_only_by_the_label_and_in_the_sandbox() -> None:
    forks = yaml.safe_load((CI / "review-forks.yml").read_text())
    assert forks[True] == {"pull_request_target": {"types": ["labeled"]}}  # YAML 1.1 reads `on` so
    assert forks["jobs"]["review"]["steps"][1]["with"]["sandbox"] == "require"
    own = yaml.safe_load((CI / "review-comments.yml").read_text())
    assert "head.repo.full_name == github.repository" in own["jobs"]["review"]["if"]


def test_every_variable_is_a_setting() -> None:
    text = "\n".join(file.read_text() for file in (ROOT / "action.yml", *CI.glob("*.yml")))
    names = set(re.findall(r"\bKITH_FORGES_(\w+)", text))
    assert names == {"GITHUB", "GITLAB"} and {each.lower() for each in names} <= {
        *ForgesSettings.__struct_fields__
    }
    assert json.dumps(ACTION["outputs"])
