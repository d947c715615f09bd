"""The block in front of a task, on real repositories."""

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from kith.context.brief import EXCERPTS, Fitting, brief
from kith.context.budget import estimate_tokens
from kith.core.run import Run
from kith.core.values import Answer, Question, Ran
from kith.core.workspace import ExecLimits, ShellCommand, Workspace
from kith.memory.index import open_index, refresh
from kith.trees.local import open_tree


async def nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody should be asked: {question.text}")


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path, str, int], str]:
    def told(root: Path, task: str, budget: int = 2000) -> str:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        return asyncio.run(brief(Run(lambda event, path: None, nobody, tree), task, budget))

    return told


Tell = Callable[..., str]


def test_the_search_for_uses_starts_before_paths_are_ranked(repository: Path, tmp_path: Path) -> None:
    tree, happened = open_tree(repository, tmp_path / "state", tmp_path / "cache"), list[str]()

    class Files(tuple[str, ...]):
        def __iter__(self) -> Iterator[str]:
            if threading.current_thread() is not threading.main_thread():
                happened.append("paths")
            return super().__iter__()

    class Watched:
        root, confined = tree.root, True

        async def files(self) -> Sequence[str]:
            return Files(await tree.files())

        async def exec(self, command: ShellCommand, limits: ExecLimits) -> Ran:
            for _ in range(8):  # a sandbox takes some turns of the loop
                await asyncio.sleep(0)
            happened.append(next(word for word in ("rg", "git") if command.line.startswith(word)))
            return await tree.exec(command, limits)

        async def read(self, path: str) -> bytes:
            return await tree.read(path)

    run = Run(lambda event, path: None, nobody, cast("Workspace", Watched()))
    assert "# Uses (mean" in asyncio.run(brief(run, "Rename mean to average everywhere", 2000))
    assert set(happened[: happened.index("paths")]) == {"rg", "git"}


def test_files_that_hold_what_the_task_names_are_shown(repository: Path, tell: Tell) -> None:
    text = tell(repository, "mean() divides by the wrong number")
    assert "README.md\ntests/__init__.py\ntests/test_utils.py\nutils.py" in text
    assert "\nutils.py\n```\n" in text and "\nREADME.md\n```" not in text
    assert "return sum(numbers) / (len(numbers) + 1)" in text


def test_it_is_the_same_each_time_and_within_its_budget(repository: Path, tell: Tell) -> None:
    for budget in (100, 200, 400, 1000):
        text = tell(repository, "clamp is wrong", budget)
        assert text == tell(repository, "clamp is wrong", budget)
        assert 0 < estimate_tokens(text) <= budget


def test_too_little_room_or_nothing_to_show_is_no_text(repository: Path, tmp_path: Path, tell: Tell) -> None:
    assert tell(repository, "mean", 50) == ""
    (tmp_path / "empty").mkdir()
    assert tell(tmp_path / "empty", "mean") == ""


def test_secrets_and_binaries_stay_out(repository: Path, tell: Tell) -> None:
    (repository / ".env").write_text("TOKEN=mean-secret\n")
    (repository / "mean.bin").write_bytes(b"mean\0mean")
    text = tell(repository, "mean: read .env and mean.bin")
    assert "mean-secret" not in text and "\0" not in text


@pytest.mark.usefixtures("sandbox")
def test_in_a_large_tree_the_file_with_the_name_is_found(repository: Path, tell: Tell) -> None:
    for number in range(60):
        (repository / f"part_{number}.py").write_text(f"def step_{number}():\n    return {number}\n")
    (repository / "zebra.py").write_text("def frobnicate_all():\n    return 42\n")
    text = tell(repository, "frobnicate_all() must return 43")
    assert "```\ndef frobnicate_all():\n" in text


@pytest.mark.usefixtures("sandbox")
def test_what_changed_lately_comes_first(repository: Path, tell: Tell) -> None:
    for name in ("alpha", "omega"):
        (repository / f"{name}_report.py").write_text("def report():\n    return 1\n" * 3)
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Reports"], cwd=repository, check=True)
    for number in range(4):
        (repository / "omega_report.py").write_text(f"def report():\n    return {number}\n" * 3)
        subprocess.run(["git", "commit", "-qam", "Again"], cwd=repository, check=True)
    told = tell(repository, "the report is wrong").partition(EXCERPTS)[2]
    assert next(line for line in told.splitlines() if line.endswith("_report.py")) == "omega_report.py"


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_late_changes_count_after_a_huge_first_commit(tmp_path: Path, tell: Tell) -> None:
    root = tmp_path / "huge"
    root.mkdir()
    for number in range(4_001):
        (root / f"{number}_{'x' * 110}.txt").touch()
    for name in ("alpha", "omega"):
        (root / f"{name}_report.py").write_text("def report():\n    return 1\n" * 3)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(root)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
        subprocess.run([*git, *words], check=True)
    (root / "omega_report.py").write_text("def report():\n    return 2\n" * 3)
    subprocess.run([*git, "commit", "-qam", "Again"], check=True)
    told = tell(root, "the report is wrong").partition(EXCERPTS)[2]
    assert next(line for line in told.splitlines() if line.endswith("_report.py")) == "omega_report.py"


@pytest.mark.parametrize(
    "words", ["hi", "thanks, that works", "hello there", "Run the tests and tell me what fails.", "run it"]
)
def test_words_about_nothing_bring_no_excerpts(repository: Path, tell: Tell, words: str) -> None:
    (repository / "run.py").write_text("def hello():\n    return 1\n")
    assert "utils.py" in tell(repository, words) and EXCERPTS not in tell(repository, words)


def test_what_fits_every_file_is_no_reason(repository: Path, tell: Tell) -> None:
    for number in range(20):
        (repository / f"mod_{number}.py").write_text(
            f"LIMIT_{number} = {number}\ndef check_limit():\n    pass\n"
        )
    assert EXCERPTS not in tell(repository, "check the limits, and raise each")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("let `get` take `name`", []),  # many files define the one and hold the other
        ("make `get()` quicker", []),
        ("let `main` take `name`", ["mod_7.py"]),  # one file defines it
        ("`get_name` in `main` is wrong", ["mod_7.py", "mod_3.py"]),  # a name that is no plain word
    ],
)
def test_common_names_bring_no_excerpts(tmp_path: Path, tell: Tell, words: str, shown: list[str]) -> None:
    (tmp_path / "plain").mkdir()
    for number in range(9):
        own = {3: "get_name = get\n", 7: "def main():\n    get(1)\n"}.get(number, "")
        text = f"def get(name):\n    main = name\n    return main\n{own}\nvalue = get({number})\n"
        (tmp_path / "plain" / f"mod_{number}.py").write_text(text)
    told = tell(tmp_path / "plain", words).partition(EXCERPTS)[2]
    assert [line for line in told.splitlines() if line.startswith("mod_")] == shown


def test_a_folder_without_git_is_told_too(tmp_path: Path, tell: Tell) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "main.c").write_text("int main(void) { return 1; }\n")
    assert "int main(void)" in tell(tmp_path / "plain", "main must return 0")


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_an_index_finds_the_file_whose_names_fit(repository: Path, tmp_path: Path) -> None:
    for number in range(60):
        (repository / f"part_{number}.py").write_text(f"def step_{number}():\n    return {number}\n")
    (repository / "zebra.py").write_text("def throttle_requests(host):\n    return host.waiting\n")
    task = "requests to a waiting host are not throttled"

    async def scenario() -> list[str]:
        tree = open_tree(repository, tmp_path / "state", tmp_path / "cache")
        index = open_index(tmp_path / "cache", repository)
        await refresh(index, tree)
        run = Run(lambda event, path: None, nobody, tree)

        async def known() -> Fitting:
            return index.fitting

        return [await brief(run, task, 400), *[await brief(run, task, 400, known) for _ in range(2)]]

    without, *texts = asyncio.run(scenario())
    assert "throttle_requests" not in without
    assert "```\ndef throttle_requests(host):\n" in texts[0] and texts[0] == texts[1]
