"""A change is published once: by the attempt that counts, over nobody's commits, or with a reason."""

import asyncio
import json
import subprocess
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleet_support import Within
from forge_server import TOKEN, Answer, StandInForge, over_http
from kith.core.errors import TreeError, UsageError
from kith.features.fleet import publications
from kith.features.fleet.artefacts import FolderStore
from kith.features.fleet.attempts import Attempt, Batch, Result, Spent
from kith.features.fleet.batches import RunRow, list_runs
from kith.features.fleet.checkout import check_out, commit_all, mirror_of, take_bundle
from kith.features.fleet.database import Fleet
from kith.features.fleet.forges import open_forge
from kith.features.fleet.job import Machine
from kith.features.fleet.publish import publish
from kith.features.fleet.settings import FleetSettings
from kith.features.fleet.tasks import FleetTask, find_repository, name_tasks
from kith.features.forges.client import Forge, Gitea, GitHub, GitLab
from kith.features.forges.remote import find_heads, push_commit
from moulds import copied

SETTINGS = FleetSettings(attempts=3, silence_seconds=1.0)
FORGES: dict[str, type[Forge]] = {"github": GitHub, "gitlab": GitLab, "gitea": Gitea}
URL = "https://forge.example"
REPORT = {"evidence": "held", "text": "Fixes #7 as @ada said", "changes": []}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.com")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _make(folder: Path) -> None:
    source, work = folder / "source", folder / "work"
    source.mkdir()
    work.mkdir()
    git(source, "init", "-q", "-b", "main")
    (source / "file").write_text("one\n")
    git(source, "add", "--all")
    git(source, "commit", "-qm", "base")
    git(folder, "clone", "-q", "--bare", str(source), str(folder / "bare.git"))
    git(folder / "bare.git", "remote", "remove", "origin")


class Site:
    """A source repository, a bare one to publish into, and a worker's means."""

    def __init__(self, folder: Path) -> None:
        self.source, self.bare, self.work = folder / "source", folder / "bare.git", folder / "work"
        copied("site", _make, folder)
        hook = self.bare / "hooks" / "post-receive"
        hook.write_text(f"#!/bin/sh\ncat >> {folder}/pushes\n")
        hook.chmod(0o755)
        self.base, self.pushes = (self.source / ".git/refs/heads/main").read_text().strip(), folder / "pushes"
        self.store = FolderStore(folder / "store")
        self.target = str(self.bare)

    def machine(self, fleet: Fleet, forge: Forge | None = None, store: Any = None) -> Machine:
        store = store or self.store
        return Machine("w", fleet, fleet, SETTINGS, self.work, store, {}, asyncio.Event(), forge)

    async def submit(self, fleet: Fleet, **task: Any) -> tuple[str, int]:
        tasks = name_tasks([FleetTask(str(self.source), "change the file", **task)])
        batch = await fleet.submit(Batch("a batch", "ada", publish=self.target), tasks)
        (row,) = await fleet.rows("SELECT id FROM fleet_runs WHERE batch = %(batch)s", batch=batch)
        return batch, row["id"]

    async def settle(self, fleet: Fleet, run: int, text: str, verdict: str = "held") -> Attempt:
        """Do the next attempt at a run, which writes this text."""
        attempt = await fleet.begin(run, "w", SETTINGS.limits)
        assert attempt
        await fleet.keep_base(attempt, self.base)
        tree, bundle = self.work / f"tree{attempt.number}", self.work / f"bundle{attempt.number}"
        await check_out(self.work / "mirrors", str(self.source), self.base, tree)
        (tree / "file").write_text(text)
        await commit_all(tree, self.base, text, f"kith/{attempt.batch}/{attempt.task.key}", bundle)
        receipt = self.work / "receipt"
        receipt.write_text(json.dumps(REPORT))
        artefacts = {"bundle": self.store.put(bundle), "receipt": self.store.put(receipt)}
        assert await fleet.settle(attempt, Spent(), Result(verdict, 0, artefacts=artefacts))
        return attempt

    def branch(self, batch: str) -> str:
        """The text that the branch has; "" without a branch."""
        ref = f"refs/heads/kith/{batch}/1"
        there = git(self.bare, "for-each-ref", ref)
        return git(self.bare, "show", f"{ref}:file") if there else ""

    def pushed(self) -> int:
        return len(self.pushes.read_text().splitlines()) if self.pushes.exists() else 0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def one(fleet: Fleet, batch: str) -> RunRow:
    (run,) = await list_runs(fleet, batch)
    return run


async def waiting(fleet: Fleet) -> list[float]:
    """Seconds until each job of a publication may begin."""
    rows = await fleet.rows(
        """
        SELECT coalesce(extract(epoch FROM scheduled_at - now()), 0)::float AS pause
        FROM procrastinate_jobs WHERE task_name = 'kith.publish' AND status = 'todo' ORDER BY id
        """
    )
    return [row["pause"] for row in rows]


def test_a_branch_is_pushed_once(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "two\n")
        assert await waiting(fleet) == [0]
        machine = site.machine(fleet)
        for _ in range(3):
            await publish(machine, run)
        assert (site.branch(batch), site.pushed()) == ("two", 1)
        assert (await one(fleet, batch)).published == f"kith/{batch}/1"
        assert not list((site.work / "runs").iterdir())

    within(look)


def test_a_push_whose_note_was_lost_is_not_repeated(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "two\n")
        await publish(site.machine(fleet), run)
        await fleet.rows("UPDATE fleet_publications SET state = 'waiting' RETURNING run")
        await fleet.rows("UPDATE fleet_runs SET published = '' RETURNING id")
        await publish(site.machine(fleet), run)
        assert site.pushed() == 1 and (await one(fleet, batch)).published

    within(look)


class Interrupting(FolderStore):
    """A store at whose first use something else happens."""

    def __init__(self, folder: Path, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(folder)
        self.meanwhile, self.loop = meanwhile, asyncio.get_running_loop()
        self.done = False

    def get(self, digest: str, file: Path) -> None:
        super().get(digest, file)
        if not self.done:
            self.done = True
            asyncio.run_coroutine_threadsafe(self.meanwhile(), self.loop).result()


def test_a_superseded_attempt_publishes_nothing(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "old\n")

        async def meanwhile() -> None:
            assert await fleet.retry(batch, ["1"], None) == 1
            await site.settle(fleet, run, "new\n")
            await publish(site.machine(fleet), run)

        await publish(site.machine(fleet, store=Interrupting(site.store.folder, meanwhile)), run)
        assert (site.branch(batch), site.pushed()) == ("new", 1)

    within(look)


def test_a_run_that_waits_again_is_not_published(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "old\n")

        async def meanwhile() -> None:
            assert await fleet.retry(batch, ["1"], None) == 1

        await publish(site.machine(fleet, store=Interrupting(site.store.folder, meanwhile)), run)
        await publish(site.machine(fleet), run)
        assert not site.pushed() and not (await one(fleet, batch)).published

    within(look)


def test_a_run_that_is_tried_again_replaces_its_own_branch(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        for text in ("old\n", "new\n"):
            await site.settle(fleet, run, text)
            await publish(site.machine(fleet), run)
            assert (await one(fleet, batch)).published
            await fleet.retry(batch, ["1"], None)
            assert not (await one(fleet, batch)).published
        assert (site.branch(batch), site.pushed()) == ("new", 2)

    within(look)


def test_commits_of_people_are_never_replaced(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "old\n")
        await publish(site.machine(fleet), run)
        (site.source / "file").write_text("by ada\n")
        git(site.source, "commit", "-qam", "mine")
        git(site.source, "push", "-qf", site.target, f"HEAD:refs/heads/kith/{batch}/1")
        await fleet.retry(batch, ["1"], None)
        await site.settle(fleet, run, "new\n")
        await publish(site.machine(fleet), run)
        told = await one(fleet, batch)
        assert site.branch(batch) == "by ada" and told.unpublished and not told.published

    within(look)


def test_a_late_push_finds_the_branch_changed(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        attempt = await site.settle(fleet, run, "old\n")
        mirrors, source, branch = site.work / "mirrors", str(site.source), f"kith/{batch}/1"
        bundle = site.work / f"bundle{attempt.number}"
        commit = await take_bundle(mirrors, source, site.base, bundle, branch)
        git(site.source, "push", "-q", site.target, f"HEAD:refs/heads/{branch}")
        for seen in ("", commit):
            with pytest.raises(TreeError):
                await push_commit(mirror_of(mirrors, source), site.target, commit, branch, seen, ("", ""))
        assert site.branch(batch) == "one"

    within(look)


def test_a_failing_push_is_tried_again_and_then_said(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "two\n")
        away = site.bare.rename(site.bare.with_name("away"))
        for tries in range(1, SETTINGS.attempts):
            await fleet.rows("DELETE FROM procrastinate_jobs WHERE task_name = 'kith.publish' RETURNING id")
            await publish(site.machine(fleet), run)
            (pause,) = await waiting(fleet)
            assert pause > 4**tries and not (await one(fleet, batch)).unpublished
        await publish(site.machine(fleet), run)
        assert "bare.git" in (await one(fleet, batch)).unpublished
        away.rename(site.bare)
        await publish(site.machine(fleet), run)
        assert not site.pushed()  # given up is given up, until somebody says so
        assert await fleet.publish_again(batch) == 1
        await publish(site.machine(fleet), run)
        told = await one(fleet, batch)
        assert site.pushed() == 1 and told.published and not told.unpublished

    within(look)


def test_publishers_that_die_are_counted(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        batch, run = await site.submit(fleet)
        await site.settle(fleet, run, "two\n")
        begin = lambda database: publications.begin(database, run, SETTINGS.limits)  # noqa: E731
        for _ in range(SETTINGS.attempts):
            assert await fleet.within(begin)
            await fleet.rows("DELETE FROM procrastinate_jobs RETURNING id")
            assert await fleet.sweep(SETTINGS.limits) == 1
            assert len(await waiting(fleet)) == 1
        assert await fleet.within(begin) is None
        assert (await one(fleet, batch)).unpublished
        assert await fleet.sweep(SETTINGS.limits) == 0

    within(look)


def with_stand_in(kind: str) -> tuple[StandInForge, Forge]:
    stand_in = StandInForge(kind, URL)
    return stand_in, FORGES[kind](URL, TOKEN, httpx2.MockTransport(stand_in))


async def settle_on_forge(
    fleet: Fleet, site: Site, monkeypatch: pytest.MonkeyPatch, **task: Any
) -> tuple[str, int]:
    """A settled run whose repository git finds at the forge's address."""
    count = "GIT_CONFIG_COUNT"
    for name, value in ((count, "1"), ("GIT_CONFIG_KEY_0", f"url.{site.bare}.insteadOf")):
        monkeypatch.setenv(name, value)
    site.target = f"{URL}/team/project.git"
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", site.target)
    batch, run = await site.submit(fleet, **task)
    await site.settle(fleet, run, "two\n", "unproven")
    return batch, run


@pytest.mark.parametrize("kind", FORGES)
def test_a_draft_is_opened_once(
    kind: str, within: Within, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(fleet: Fleet) -> None:
        stand_in, forge = with_stand_in(kind)
        batch, run = await settle_on_forge(fleet, site, monkeypatch)
        of_a_fork = {"head": f"kith/{batch}/1", "base": "main", "of": 4}
        stand_in.others = [{"number": 90 + n, "iid": 90 + n, **of_a_fork} for n in range(3)]
        await publish(site.machine(fleet, forge), run)
        (pull,) = stand_in.pulls
        assert (pull["head"], pull["base"], pull["draft"]) == (f"kith/{batch}/1", "main", True)
        assert "Unproven: change the file" in pull["title"]
        assert "#7" not in pull["body"] and "@ada" not in pull["body"]
        url = pull["web_url" if kind == "gitlab" else "html_url"]
        assert (await one(fleet, batch)).published == url
        (row,) = await fleet.rows("SELECT url FROM fleet_publications")
        assert row["url"] == url
        # Once more, with another receipt: the same draft gets the new text.
        await fleet.retry(batch, ["1"], None)
        await site.settle(fleet, run, "three\n", "proven")
        await publish(site.machine(fleet, forge), run)
        assert len(stand_in.pulls) == 1 and "Unproven" not in pull["body"]
        assert (await one(fleet, batch)).published == url

    within(look)


def test_a_draft_is_for_the_branch_that_was_changed(
    within: Within, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(fleet: Fleet) -> None:
        git(site.bare, "branch", "release/1", site.base)
        stand_in, forge = with_stand_in("gitea")
        _, run = await settle_on_forge(fleet, site, monkeypatch, revision="release/1")
        await publish(site.machine(fleet, forge), run)
        assert [each["base"] for each in stand_in.pulls] == ["release/1"]

    within(look)


LIMITED: list[tuple[Answer, float]] = [
    ((429, {}, {"Retry-After": "90"}), 90),
    ((403, {"message": "secondary rate limit"}, {"Retry-After": "30"}), 30),
    ((429, {}, {}), 60),
]


@pytest.mark.parametrize(("answer", "seconds"), LIMITED)
def test_a_busy_forge_is_asked_again_when_it_says(
    answer: Answer, seconds: float, within: Within, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(fleet: Fleet) -> None:
        stand_in, forge = with_stand_in("github")
        batch, run = await settle_on_forge(fleet, site, monkeypatch)
        stand_in.busy = [answer] * (SETTINGS.attempts + 1)
        for _ in range(SETTINGS.attempts + 1):  # that is no failure, however often it happens
            await fleet.rows("DELETE FROM procrastinate_jobs WHERE task_name = 'kith.publish' RETURNING id")
            await publish(site.machine(fleet, forge), run)
            (pause,) = await waiting(fleet)
            assert seconds - 5 < pause <= seconds
            (row,) = await fleet.rows("SELECT opened FROM fleet_publications")
            assert row["opened"] is None  # the next try takes a turn of its own
        await publish(site.machine(fleet, forge), run)
        assert len(stand_in.pulls) == 1 and site.pushed() == 1 and (await one(fleet, batch)).published

    within(look)


def test_a_refusal_is_said_at_once(within: Within, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(fleet: Fleet) -> None:
        stand_in, forge = with_stand_in("github")
        batch, run = await settle_on_forge(fleet, site, monkeypatch)
        why = "Draft pull requests are not supported in this repository."
        stand_in.busy = [(422, {"message": why}, {}), (200, [], {})]
        await publish(site.machine(fleet, forge), run)
        assert why.rstrip(".") in (await one(fleet, batch)).unpublished

    within(look)


def test_publishers_together_keep_to_the_limits_of_a_forge(within: Within, site: Site) -> None:
    async def look(fleet: Fleet) -> None:
        tasks = name_tasks([FleetTask(str(site.source), "x")] * 82)
        batch = await fleet.submit(Batch("many", "ada", publish=site.target), tasks)
        await fleet.rows(
            """
            WITH ended AS (UPDATE fleet_runs SET state = 'done', attempt = 1,
              result = '{"artefacts": {"bundle": ""}}' RETURNING id)
            INSERT INTO fleet_publications (run, attempt) SELECT id, 1 FROM ended RETURNING run
            """
        )
        runs = await fleet.rows("SELECT id FROM fleet_runs WHERE batch = %(batch)s ORDER BY id", batch=batch)
        pauses = []
        for row in runs:
            begun = await fleet.within(
                lambda database, run=row["id"]: publications.begin(database, run, SETTINGS.limits)
            )
            assert begun
            pauses.append(
                await fleet.within(lambda database, begun=begun: publications.take_turn(database, begun))
            )
        assert pauses[:80] == [0.0] * 80 and all(50 < each <= 60 for each in pauses[80:])

    within(look)


def test_the_token_goes_to_the_forge_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def server(name: str) -> Callable[..., Answer]:
        def answer(method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
            seen.append((name, headers.get("Authorization", "")))
            return 401, {}, {"WWW-Authenticate": 'Basic realm="git"'}

        return answer

    with over_http(server("forge")) as here, over_http(server("elsewhere")) as there:
        forge = GitHub(here, TOKEN)
        for url in (here, there):
            repository = f"{url}/team/project.git"
            with pytest.raises(TreeError) as error:
                asyncio.run(find_heads(repository, ("x",), forge.git_secret(repository)))
            assert TOKEN not in str(error.value)
            with pytest.raises(TreeError):  # even if a secret were meant for another place
                asyncio.run(find_heads(repository, ("x",), forge.git_secret(f"{here}/team/project.git")))
    basic = f"Basic {b64encode(f'x-access-token:{TOKEN}'.encode()).decode()}"
    assert {said for name, said in seen if name == "forge"} == {"", basic}
    assert {said for name, said in seen if name == "elsewhere"} == {""}
    assert TOKEN not in repr(forge)


PLACES = [
    ("https://forge.example/team/project.git", "team/project"),
    ("git@forge.example:team/project.git", "team/project"),
    ("ssh://git@forge.example:2222/team/project", "team/project"),
    ("https://forge.example:8443/team/project.git", ""),
    ("https://elsewhere.example/team/project.git", ""),
    ("/srv/project.git", ""),
]


@pytest.mark.parametrize(("repository", "project"), PLACES)
def test_a_project_is_found_by_its_url(repository: str, project: str) -> None:
    assert GitHub(URL, TOKEN).project(repository) == project


@pytest.mark.parametrize(
    ("kind", "url", "token"),
    [
        ("gitea", "", TOKEN),
        ("github", "http://git.example.com", TOKEN),
        ("github", "", ""),
        ("gitlab", "x", TOKEN),
    ],
)
def test_a_forge_that_cannot_be_asked_is_refused(kind: Any, url: str, token: str) -> None:
    with pytest.raises(UsageError):
        open_forge(kind, url, token)


def test_a_password_in_a_url_is_refused() -> None:
    with pytest.raises(UsageError):
        find_repository("https://ada:secret@forge.example/team/project.git")
    assert find_repository("https://ada@forge.example/team/project.git")
