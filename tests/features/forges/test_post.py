"""A review on a pull request: each finding once, one summary that is kept, and nothing without a token."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from forge_server import TOKEN, Answer, StandInForge, StandInTalk, over_http
from outside import Kith
from reviewing import Here

PULLS = {"github": "pull", "gitlab": "-/merge_requests", "gitea": "pulls"}
KINDS = [*PULLS]
HEAD = "a" * 40


class Site:
    """A forge on a port of its own with one pull request, whose diff shows lines 1 to 9 of app.py."""

    def __init__(self, kind: str, url: str, forge: StandInForge, talk: StandInTalk, kith: Kith) -> None:
        self.kind, self.url, self.forge, self.talk, self.kith = kind, url, forge, talk, kith
        self.pull = f"{url}/team/project/{PULLS[kind]}/7"
        self.token = {f"KITH_{kind.upper()}_TOKEN": TOKEN}

    def comment(
        self, review: dict[str, Any], *more: str, code: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        os.environ.update(self.token)  # a command takes it away
        file = self.kith.folder.parent / "review.json"
        file.write_text(json.dumps(review))
        return self.kith("comment", self.pull, str(file), *more, code=code)

    @property
    def places(self) -> list[tuple[str, int]]:
        return [(each["path"], each["line"]) for each in self.talk.comments]

    @property
    def summary(self) -> str:
        (note,) = self.talk.notes
        return str(note["body"])


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    kind = getattr(request, "param", "github")
    lines: dict[int, int | None] = {line: line if line % 2 else None for line in range(1, 10)}
    talk = StandInTalk(HEAD, {"app.py": lines})
    forge = StandInForge(kind, talk=talk)
    tree = tmp_path / "tree"
    tree.mkdir()
    with over_http(forge.answer) as url:
        monkeypatch.setenv(f"KITH_FORGES_{kind.upper()}", url)
        monkeypatch.setenv(f"KITH_{kind.upper()}_TOKEN", "")  # so that it is gone afterwards
        yield Site(kind, url, forge, talk, Here(tree))


every_forge = pytest.mark.parametrize("site", KINDS, indirect=True)


def found(line: int, text: str = "It breaks.", **other: Any) -> dict[str, Any]:
    place = {"first": 1, "last": 9, "old": line if line % 2 else None} if line < 10 else None
    usual = {"path": "app.py", "line": line, "severity": "error", "rule": "review", "text": text}
    return usual | {"by": "m", "fingerprint": f"{line:016x}", "place": place} | other


def review(*findings: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"status": "done", "head": HEAD, "files": ["app.py"], "findings": findings, "model": "m"} | other


@every_forge
def test_three_findings_are_three_comments_and_one_summary(site: Site) -> None:
    done = site.comment(review(found(2), found(3), found(8)))
    assert site.places == [("app.py", 2), ("app.py", 3), ("app.py", 8)]
    assert site.summary.startswith("**kith review: 3 findings**")
    assert done.stdout == "3 new comments. The summary is up to date.\n"


@every_forge
def test_a_second_run_adds_only_what_is_new_and_updates_the_summary(site: Site) -> None:
    site.comment(review(found(2), found(3), found(8)))
    site.talk.notes.insert(0, {"id": 99, "body": "Hello", "user": {"login": "ada"}, "author": {"id": 1}})
    site.talk.head = "c" * 40
    moved = found(4, "The same in other words.", fingerprint=f"{3:016x}")
    site.comment(review(moved, found(8), found(6), head="c" * 40))
    assert site.places == [("app.py", 2), ("app.py", 3), ("app.py", 8), ("app.py", 6)]
    (mine,) = [each["body"] for each in site.talk.notes if each["id"] != 99]
    assert "3 findings" in mine and "1 earlier finding is gone" in mine and "cccccccccccc" in mine


@every_forge
def test_the_same_review_again_changes_nothing(site: Site) -> None:
    site.comment(review(found(2)))
    before = len(site.forge.asked)
    site.comment(review(found(2)))
    verbs = {method for method, _ in site.forge.asked[before:]}
    assert verbs <= {"GET", "PATCH", "PUT"} and len(site.talk.comments) == len(site.talk.notes) == 1


@pytest.mark.parametrize("site", ["github", "gitlab"], indirect=True)
def test_a_line_outside_the_diff_is_in_the_summary_alone(site: Site) -> None:
    elsewhere = found(60, "Elsewhere.", place={"first": 58, "last": 62, "old": None})
    done = site.comment(review(found(2), elsewhere, found(70, "Far away.")))
    assert site.places == [("app.py", 2)]
    assert site.summary.count("not on a line of the diff") == 2 and "2 only in the summary" in done.stdout


def test_a_mark_of_somebody_else_hides_nothing(site: Site) -> None:
    mallory = {"user": {"login": "mallory", "type": "User"}}
    site.talk.comments.append({"id": 50, "body": f"Nothing.\n\n<!-- kith:{2:016x} -->", **mallory})
    site.talk.notes.append({"id": 51, "body": "All good.\n\n<!-- kith:summary -->", **mallory})
    site.comment(review(found(2)))
    assert len(site.talk.comments) == 2 and len(site.talk.notes) == 2
    assert site.talk.notes[0]["body"].startswith("All good.")


def test_a_job_finds_its_own_comments_by_their_bot(site: Site) -> None:
    site.talk.bot = True
    site.comment(review(found(2)))
    site.comment(review(found(2)))
    assert len(site.talk.comments) == len(site.talk.notes) == 1


@every_forge
def test_without_a_token_nothing_is_asked(site: Site) -> None:
    site.token = {}
    done = site.comment(review(found(2)), code=2)
    assert f"KITH_{site.kind.upper()}_TOKEN" in done.stderr and not site.forge.asked


def test_a_dry_run_shows_the_comments_and_posts_nothing(site: Site) -> None:
    done = site.comment(review(found(2, replacement="x = 1")), "--dry-run")
    assert "app.py:2" in done.stdout and "```suggestion" in done.stdout and not site.forge.asked


def test_the_token_goes_to_no_other_address(site: Site) -> None:
    with over_http(site.forge.answer) as other:
        done = site.kith("comment", f"{other}/team/project/pull/7", "/dev/null", code=2)
    assert "knows no forge" in done.stderr and not site.forge.asked


REFUSALS: list[tuple[Answer, int, str]] = [
    ((401, {"message": "Bad credentials"}, {}), 1, "KITH_GITHUB_TOKEN"),
    ((403, {"message": "Resource not accessible by integration"}, {}), 1, "pull-requests: write"),
    ((404, {"message": "Not Found"}, {}), 1, "no such pull request"),
    ((403, {"message": "rate limit"}, {"Retry-After": "900"}), 75, "15 min"),
    ((502, {}, {}), 75, "502"),
]


@pytest.mark.parametrize(("answer", "code", "said"), REFUSALS)
def test_a_refusal_is_one_sentence(site: Site, answer: Answer, code: int, said: str) -> None:
    site.forge.busy.append(answer)
    done = site.comment(review(found(2)), code=code)
    assert said in done.stderr and "Traceback" not in done.stderr and not site.talk.comments


@pytest.mark.slow
def test_a_forge_that_wants_fewer_requests_is_waited_for(site: Site) -> None:
    site.forge.busy += [
        (429, {}, {"Retry-After": "1"}),
        (403, {"message": "You have exceeded a secondary rate limit"}, {"Retry-After": "0"}),
    ]
    done = site.comment(review(found(2), found(3)))
    assert done.stderr.count("wants fewer requests; waiting 1 s") == 2 and len(site.talk.comments) == 2


def test_a_review_of_another_commit_is_not_posted(site: Site) -> None:
    done = site.comment(review(found(2), head="d" * 40), code=1)
    assert "dddddddddddd" in done.stderr and not site.talk.comments and not site.talk.notes


def test_a_closed_pull_request_gets_nothing(site: Site) -> None:
    site.talk.state = "closed"
    site.comment(review(found(2)), code=1)
    assert not site.talk.comments and not site.talk.notes


def test_no_more_comments_than_the_setting_allows(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_FORGES_COMMENTS", "2")
    site.comment(review(found(2), found(3), found(8)))
    assert len(site.talk.comments) == 2 and site.summary.count("\n- ") == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told["findings"][0].update(path="../x"),
        lambda told: told["findings"][0].update(path="/etc/passwd"),
        lambda told: told["findings"][0].update(fingerprint="--><b>"),
        lambda told: told["findings"][0].update(line=-1),
        lambda told: told["findings"][0].update(severity="fatal"),
        lambda told: told.update(head="main --"),
        lambda told: told.update(head=""),
        lambda told: told.pop("status"),
        lambda told: told.update(findings="x"),
    ],
)
def test_a_file_that_is_no_review_is_refused(site: Site, spoil: Callable[[dict[str, Any]], Any]) -> None:
    told = review(found(2))
    spoil(told)
    assert "Traceback" not in site.comment(told, code=2).stderr
    assert not site.forge.asked


SHOWN = {"text", "text_special", "strong_open", "strong_close", "code_inline", "softbreak"}
HOSTILE = (
    "Fixes #1 @ada <img src=//evil.example/x> ![x](https://evil.example) [a](javascript:1) www.evil.example "
    "`code` **bold** <!-- kith:summary -->\n\n/merge\n\n# Title\n<script>"
)


@every_forge
def test_the_words_of_a_finding_draw_and_do_nothing(site: Site) -> None:
    path = "a`b<img>|@ada#1.py"
    site.talk.lines[path] = {2: None}
    site.comment(review(found(2, HOSTILE, path=path, by="`<b>`", replacement="```\n@ada\n</details>")))
    (body,) = [each["body"] for each in site.talk.comments]
    for text in (body, site.summary):
        tokens = MarkdownIt().parse(text)
        inline = [each for token in tokens for each in token.children or ()]
        assert {each.type for each in inline} <= SHOWN and not re.search(r"^\s*/\w", text, re.MULTILINE)
        assert sum(each.type == "html_block" for each in tokens) == 1  # the mark
        outside = "".join(each.content for each in inline if each.type in ("text", "text_special"))
        assert not re.search(r"[@#!]\w|://|www\.|\bFixes\b|\\u200b", outside)
    assert body.count("\n````\n") == 1 and not re.search("@ada", site.summary)


def test_a_suggestion_with_hidden_characters_cannot_be_applied(site: Site) -> None:
    site.comment(review(found(2, replacement="access = 'user\u202e'")))
    (body,) = [each["body"] for each in site.talk.comments]
    assert "```suggestion" not in body and "\u202e" not in body and "\\u202e" in body


def test_a_finding_over_several_lines_is_one_comment_on_them_all(site: Site) -> None:
    site.comment(review(found(2, end=4, replacement="x = 1")))
    (comment,) = site.talk.comments
    assert (comment["start_line"], comment["line"]) == (2, 4)


@pytest.mark.parametrize("site", ["gitlab"], indirect=True)
def test_a_renamed_file_is_named_as_before(site: Site) -> None:
    site.talk.old_paths["app.py"] = "main.py"
    site.comment(review(found(2), found(3)))
    assert site.places == [("app.py", 2), ("app.py", 3)]


ODD: list[Any] = [[], {}, "x", None, {"head": 1, "state": "open"}, {"state": "open", "number": 7, "head": []}]


@every_forge
@pytest.mark.parametrize("answer", ODD)
def test_an_odd_answer_is_one_sentence(site: Site, answer: Any) -> None:
    pull = {"state": "open", "number": 7, "head": {"sha": HEAD}, "base": {"sha": HEAD}}
    for before in ([], [pull], [pull, []]):
        site.forge.busy = [(200, each, {}) for each in (*before, answer)]
        done = site.comment(review(found(2)), code=None)
        assert "Traceback" not in done.stderr and "bug" not in done.stderr


def test_a_deep_answer_is_one_sentence(site: Site) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    site.forge.busy.append((200, deep, {}))
    assert "Traceback" not in site.comment(review(found(2)), code=75).stderr


def test_a_review_that_failed_says_so_without_its_reason(site: Site) -> None:
    site.comment(review(status="unavailable", text="http://10.0.0.5:8080 does not answer"))
    assert "did not end well" in site.summary and "10.0.0.5" not in site.summary
