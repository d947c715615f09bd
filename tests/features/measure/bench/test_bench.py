"""The bench: exercises that can be solved and are not, forms that llama-bench reads, runs side by side."""

import asyncio
import csv
import io
import json
import re
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench_solutions import solution, solved
from kith.agent.roles import Player
from kith.core.errors import ModelError, UsageError
from kith.core.events import Event
from kith.core.model import Emit, Prompt, Role
from kith.core.policy import TRIAL
from kith.core.run import Run
from kith.core.values import Answer, Message, Question, Reply, Text, Timing, ToolCall, Usage
from kith.core.workspace import Workspace
from kith.features.foresight.latency import Latency
from kith.features.measure.bench.bench import (
    CALLS,
    DEPTHS,
    FORMS,
    TOOLS,
    Paces,
    Subject,
    _go_on,
    bench,
    edits,
)
from kith.features.measure.bench.exercises import Exercise, find_exercises, read_exercise
from kith.features.measure.bench.llama_bench import format_of, read_calls, rows_of, write_rows
from kith.features.measure.bench.result import BenchResult, BenchSpeed, LeftDepth, Score, TriedExercise
from kith.features.measure.bench.runs import compare, flips, ratio_interval
from kith.features.measure.bench_command import describe
from kith.features.measure.probe.exercises import QUESTION
from kith.features.measure.probe.probe import TimedModel
from kith.tools import standard_tools
from kith.trees.local import open_tree
from sparing import first

FEW = tuple(each for each in find_exercises() if each.name in ("leap_year", "seat_labels", "two_modules"))
EXERCISES = {exercise.name: exercise for exercise in find_exercises()}


# --- the exercises ---------------------------------------------------------------------------


def run_check(exercise: Exercise, folder: Path, changed: dict[str, str]) -> int:
    for path, text in {**exercise.files, **changed}.items():
        (folder / path).write_text(text)
    return subprocess.run(exercise.check, shell=True, cwd=folder, capture_output=True, timeout=60).returncode


@pytest.mark.parametrize("name", first(sorted(EXERCISES), 2))
def test_an_exercise_fails_until_it_is_solved(name: str, tmp_path: Path) -> None:
    exercise = EXERCISES[name]
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    assert run_check(exercise, tmp_path / "before", {}) == 1
    assert run_check(exercise, tmp_path / "after", solved(exercise)) == 0
    assert exercise.tests and not set(exercise.tests) & solved(exercise).keys()


def test_there_are_enough_of_several_kinds_and_the_small_ones_come_first() -> None:
    kinds = {exercise.kind for exercise in EXERCISES.values()}
    changes = {"fix-failing-test", "edit-small", "edit-multi", "refactor"}
    assert len(EXERCISES) >= 30 and kinds == changes | {"write-test", "locate", "docs"}
    sizes = [sum(map(len, exercise.files.values())) for exercise in find_exercises()]
    assert sizes == sorted(sizes) and sizes[-1] < 3_000


def test_an_exercise_without_files_is_refused() -> None:
    with pytest.raises(UsageError, match=r"lost\.md: it has no files"):
        read_exercise("lost", "---\nkind: bug\ncheck: true\n---\nDo something.\n")


# --- a whole bench ---------------------------------------------------------------------------


@dataclass
class Pupil:
    """A model that knows every answer, and tells of these speeds (tokens/s), but takes no time.

    `wrong` names what it gets wrong.
    """

    wrong: tuple[str, ...] = ()
    name: str = "pupil"
    asked: list[Prompt] = field(default_factory=list)
    trouble_at: str = ""
    reads: float = 1_000
    writes: float = 40

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt)
        words = prompt.messages[0].text
        if self.trouble_at and self.trouble_at in words:
            raise ModelError("the server is gone", retryable=True)
        parts = (Text("I do not know."),) if any(each in words for each in self.wrong) else self._parts(words)
        chars = len(prompt.system) + sum(len(message.text) for message in prompt.messages)
        told = max(1, len(str(parts)) // 4)
        usage = Usage(chars // 4, told, min(len(prompt.system), chars) // 4 if len(prompt.system) > 99 else 0)
        timing = Timing(
            total_s=0.1, prefill_s=(usage.input - usage.cached) / self.reads, decode_s=told / self.writes
        )
        stop: Any = "tools" if any(isinstance(part, ToolCall) for part in parts) else "end"
        return Reply(Message("assistant", parts, self.name), stop, self.name, usage, timing)

    def _parts(self, words: str) -> tuple[Text | ToolCall, ...]:
        for exercise in EXERCISES.values():
            if exercise.words in words:
                return (Text(solution(exercise)),)
        for call in CALLS:
            if call.ask == words:
                said = json.loads(call.answer)
                return (ToolCall("1", said["name"], said["arguments"]),)
        for form in FORMS:
            for edit in edits(form):
                if edit.ask == words:
                    return (Text(edit.answer),)
        return (Text("56" if "7 times 8" in words else " ".join(map(str, range(40)))),)


def take(
    pupil: Pupil, budget_s: float = 60.0, events: list[Event] | None = None, **about: Any
) -> BenchResult:
    """A bench of this model in the real sandbox, or wherever the machine lets it be."""
    said = events if events is not None else []

    @asynccontextmanager
    async def place(exercise: Exercise) -> AsyncIterator[Workspace]:
        root = Path(about["folder"]) / f"{exercise.name}-{time.monotonic_ns()}"
        root.mkdir(parents=True)
        for path, text in exercise.files.items():
            (root / path).write_text(text)
        yield open_tree(root, root.parent / "state", root.parent / "cache")

    async def worker(seconds: float) -> Player:
        tools = standard_tools(repository=False)
        return Player(Role("worker", "You work.", pupil, tools, TRIAL, "edit"), 16_384)

    async def nobody(question: Question) -> Answer:
        return Answer("no")

    async def go() -> BenchResult:
        tree = open_tree(about["folder"], about["folder"].parent / "state", about["folder"].parent / "cache")
        run = Run(lambda event, path: said.append(event), nobody, tree)
        about_it = BenchResult("pupil", "here", at=1.8e9, window=16_384)
        subject = Subject(pupil, worker, place, about_it, exercises=FEW)
        return await bench(run, subject, budget_s)

    return asyncio.run(go())


def scores(result: BenchResult) -> dict[str, tuple[int, int]]:
    return {score.name: (score.share.good, score.share.number) for score in result.scores}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "places").mkdir()
    return tmp_path / "places"


@pytest.mark.slow
def test_a_model_that_knows_everything_gets_everything_right(sandbox: None, folder: Path) -> None:
    pupil, events = Pupil(), list[Event]()
    result = take(pupil, events=events, folder=folder)
    wrong = [(score.name, each) for score in result.scores for each in score.tried if each.why]
    assert wrong == []
    assert scores(result) == {
        "tool calls": (8, 8),
        "search/replace": (4, 4),
        "whole file": (4, 4),
        "diff": (4, 4),
        "tasks": (3, 3),
    }
    assert [speed.depth > 500 for speed in result.speeds][:2] == [False, True]
    assert all(rate == pytest.approx(1000, rel=0.01) for speed in result.speeds for rate in speed.read)
    assert BenchResult.from_facts(json.loads(json.dumps(result.facts))) == result


@pytest.mark.slow
def test_what_goes_wrong_is_said_and_tests_that_were_bent_do_not_help(sandbox: None, folder: Path) -> None:
    class Cheat(Pupil):
        def _parts(self, words: str) -> tuple[Text | ToolCall, ...]:
            exercise = EXERCISES["seat_labels"]
            if exercise.words not in words:
                return super()._parts(words)
            return (Text("test_seats.py\n```python\nimport unittest\n\n\nclass T(unittest.TestCase):\n"
                         "    def test(self):\n        pass\n```\n"),)  # fmt: skip

    cheat = Cheat(wrong=("README.md", "Farewell"))
    result = take(cheat, folder=folder)
    assert scores(result)["tool calls"] == (7, 8) and scores(result)["diff"] == (3, 4)
    (task,) = [each for each in result.scores[-1].tried if each.why]
    assert task.name == "seat_labels" and task.why


@pytest.mark.slow
def test_a_server_in_trouble_ends_the_tasks_and_keeps_the_rest(sandbox: None, folder: Path) -> None:
    result = take(Pupil(trouble_at=FEW[1].words), folder=folder)
    tasks = result.scores[-1]
    assert (len(tasks.tried), tasks.left, tasks.skipped) == (1, 2, "the server is gone")
    assert scores(result)["tool calls"] == (8, 8)


def test_without_time_nothing_is_claimed(folder: Path) -> None:
    class Slow(Pupil):
        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            await asyncio.sleep(0.12)
            return await super().__call__(prompt, emit)

    result = take(Slow(), budget_s=1.0, folder=folder)
    assert sum(score.left for score in result.scores) > 10 and result.scores[-1].left == 3
    assert "time" in [each.why for each in result.left_depths]


def test_prompts_for_speed_share_nothing_that_could_be_cached() -> None:
    pupil = Pupil()
    track = Paces(pupil, lambda event: None, time.monotonic() + 60, window=4_096)
    speeds, left = asyncio.run(track.measure())
    assert [speed.depth > 500 for speed in speeds] == [False, True]
    assert [(each.depth, each.why) for each in left] == [(depth, "window") for depth in DEPTHS[2:]]
    first = [prompt.system[:24] for prompt in pupil.asked[:3]]
    assert len(set(first)) == 3  # the shallow ones differ from their first token on
    deep = list(pupil.asked[3:])
    assert len({prompt.system for prompt in deep}) == 1
    assert len({prompt.messages[0].text[:24] for prompt in deep}) == len(deep)
    paid = Paces(Pupil(), lambda event: None, time.monotonic() + 60, deepest=0)
    speeds, left = asyncio.run(paid.measure())
    assert len(speeds) == 1
    assert [(each.depth, each.why) for each in left] == [(depth, "price") for depth in DEPTHS[1:]]


class Ollama(Pupil):
    """A server that reports all tokens of a prompt, and the time that only the new ones took."""

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        reply = await super().__call__(prompt, emit)
        return replace(reply, usage=replace(reply.usage, cached=0))


def test_a_server_that_counts_no_cached_tokens_is_not_taken_for_a_faster_one() -> None:
    track = Paces(Ollama(), lambda event: None, time.monotonic() + 60, window=4_096)
    speeds, _ = asyncio.run(track.measure())
    assert [speed.depth > 500 for speed in speeds] == [False, True]
    assert all(rate == pytest.approx(1_000, rel=0.05) for speed in speeds for rate in speed.read)


# --- llama-bench -----------------------------------------------------------------------------

RUN = BenchResult(
    "llama-server/tiny",
    "a desk",
    at=1.8e9,
    parameters="3B",
    quantisation="Q4_K_M",
    session="abc",
    speeds=(
        BenchSpeed(0, 512, (500.0, 510.0, 490.0), 33, (20.0, 20.5)),
        BenchSpeed(4096, 512, (250.0,), 33, (10.0,)),
    ),
    scores=(Score("tasks", (TriedExercise("a"), TriedExercise("b", "no"), TriedExercise("c", "no"))),),
)


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "md"])
def test_what_is_written_is_read_again(format: str) -> None:
    calls = read_calls(write_rows(rows_of(RUN), format), format, f"x.{format}")
    latency = Latency()
    latency.suppose(*calls)
    shallow, deep = latency.foresee(512, 0, 33), latency.foresee(512, 4096, 33)
    assert shallow and shallow.mid_s == pytest.approx(512 / 500 + 32 / 20, rel=0.15)
    assert deep and deep.mid_s == pytest.approx(512 / 250 + 32 / 10, rel=0.15)


def test_rows_have_the_names_that_llama_bench_gives_them() -> None:
    row = rows_of(RUN)[0]
    assert (row["n_prompt"], row["n_gen"], row["n_depth"]) == (512, 0, 0)
    assert row["avg_ts"] == 500.0 and row["avg_ns"] == pytest.approx(512 / 500 * 1e9, rel=0.01)
    assert len(row["samples_ns"]) == 3 and row["test_time"] == "2027-01-15T08:00:00Z"
    table = write_rows(rows_of(RUN), "md")
    assert "| 3B Q4_K_M | pp512 | 500.00 ± 10.00 |" in table and "tg32 @ d4608 | 10.00 ± 0.00" in table
    (first, *_) = csv.DictReader(io.StringIO(write_rows(rows_of(RUN), "csv")))
    assert first["n_prompt"] == "512" and "samples_ns" not in first


def test_rows_of_llama_bench_itself_are_understood() -> None:
    rows = [
        {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 1_000_000_000, "samples_ns": [9e8, 11e8]},
        {"n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ns": 6_400_000_000},
        {"n_prompt": 512, "n_gen": 128, "n_depth": 0, "avg_ns": 9_000_000_000},
    ]
    calls = read_calls(json.dumps(rows), "json", "x.json")
    assert [(took.new, took.cached, took.out) for took in calls] == [(512, 0, 0), (512, 0, 0), (0, 4096, 129)]
    assert [took.read_s for took in calls[:2]] == [0.9, 1.1] and calls[2].write_s == 6.4


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '[{"n_prompt": "x"}]', "no json"])
def test_a_file_that_holds_no_rows_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape("x.json")):
        read_calls(text, "json", "x.json")


def test_the_name_says_the_format() -> None:
    assert format_of("a/b.JSONL") == "jsonl"
    with pytest.raises(UsageError, match=r"must end in one of \.json, \.jsonl, \.csv, \.md"):
        format_of("speeds.sql")


# --- two runs --------------------------------------------------------------------------------


def test_what_is_different_is_told_from_chance() -> None:
    faster = replace(
        RUN,
        speeds=(
            BenchSpeed(0, 512, (700.0, 710.0, 690.0), 33, (20.1, 20.4)),
            BenchSpeed(4096, 512, (300.0,), 33, ()),
        ),
        scores=(
            Score("tasks", (TriedExercise("a", "no"), TriedExercise("b"), TriedExercise("c"))),
            Score("diff", (TriedExercise("d"),)),
        ),
    )
    found = {line.name: line for line in compare(RUN, faster)}
    assert list(found) == ["reads at 0", "writes at 0", "reads at 4,096", "tasks"]
    assert found["reads at 0"].finding == "better" and found["writes at 0"].finding == "no difference shown"
    low, high = found["reads at 0"].interval or (0, 0)
    assert low < 1.4 < high
    assert found["reads at 4,096"].finding == "one value each" and found["reads at 4,096"].interval is None
    assert found["tasks"].finding == "no difference shown" and found["tasks"].counts == ("1 of 3", "2 of 3")
    assert flips(RUN, faster) == (("tasks: b", "tasks: c"), ("tasks: a",))
    assert compare(faster, RUN)[0].finding == "worse"


def test_many_outcomes_show_a_difference() -> None:
    def run(good: int) -> BenchResult:
        tried = tuple(TriedExercise(str(number), "" if number < good else "no") for number in range(20))
        return replace(RUN, speeds=(), scores=(Score("tasks", tried),))

    (line,) = compare(run(4), run(16))
    assert line.finding == "better" and line.interval and line.interval[0] > 0.2


def test_a_ratio_needs_two_values_of_each() -> None:
    assert ratio_interval((1.0, 1.1), (2.0,)) is None
    low, high = ratio_interval((100.0, 101.0, 99.0), (200.0, 202.0, 198.0)) or (0, 0)
    assert 1.9 < low < 2.0 < high < 2.1


def test_a_slow_model_is_measured_with_fewer_tokens(folder: Path) -> None:
    class Slow(Pupil):
        """Never comes to the end of a prompt of 512 tokens."""

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            if len(prompt.messages[-1].text) > 1_200:
                await asyncio.Event().wait()
            return await super().__call__(prompt, emit)

    result = take(Slow(), 1.0, folder=folder)
    (speed,) = result.speeds
    assert speed.depth == 0 and 100 < speed.new < 400
    assert any("128" in note for note in result.notes)


def test_a_slow_model_is_asked_only_what_fits_into_the_time(folder: Path) -> None:
    pupil = Pupil(reads=20, writes=3)
    result = take(pupil, 90.0, folder=folder)
    # Reading 512 tokens would take 26 s, and a fourth of the time is for speed. What the tasks leave is
    # enough for one more depth.
    assert [speed.new < 320 for speed in result.speeds] == [True, True]
    assert [each.depth for each in result.left_depths] == list(DEPTHS[2:])
    assert {each.why for each in result.left_depths} == {"time"}
    assert [each.needed_s for each in result.left_depths] == sorted(
        each.needed_s for each in result.left_depths
    )
    tasks = result.scores[-1]
    assert (tasks.tried, tasks.left) == ((), len(FEW)) and tasks.needed_s > 90
    assert not any("You work." in prompt.system for prompt in pupil.asked)
    calls = result.scores[0]
    assert calls.tried and len(calls.tried) + calls.left == len(CALLS)
    # Only what takes longer than all that is left of the 90 s was left out.
    assert all(score.needed_s > 80 for score in result.scores if score.left), result.scores
    assert BenchResult.from_facts(json.loads(json.dumps(result.facts))) == result


def go_on(pupil: Pupil, score: Score, folder: Path) -> Score:
    async def nobody(question: Question) -> Answer:
        return Answer("no")

    table = TimedModel(pupil, lambda event: None, time.monotonic() + 60, "once", purpose="bench")
    run = Run(
        lambda event, path: None, nobody, open_tree(folder, folder.parent / "state", folder.parent / "cache")
    )
    return asyncio.run(_go_on(run, table, score, CALLS))


def test_trouble_in_the_second_round_hides_nothing_of_the_first(folder: Path) -> None:
    measured = Score(TOOLS, (TriedExercise(CALLS[0].name),), len(CALLS) - 1, needed_s=9.0)
    found = go_on(Pupil(trouble_at=CALLS[1].ask), measured, folder)
    assert (found.tried, found.left, found.skipped) == (measured.tried, len(CALLS) - 1, "")
    shown = "\n".join(describe(replace(RUN, scores=(found,))))
    assert "7 left out: the server is gone" in shown and "no time" not in shown


def test_what_ended_in_trouble_is_not_asked_again(folder: Path) -> None:
    pupil = Pupil()
    score = Score(TOOLS, (TriedExercise(CALLS[0].name),), len(CALLS) - 1, trouble="gone")
    assert go_on(pupil, score, folder) == score and pupil.asked == []
    assert go_on(pupil, replace(score, trouble=""), folder).left == 0


def test_what_was_left_out_is_in_the_table() -> None:
    left = (LeftDepth(1_024, "time", 80.0), LeftDepth(4_096, "time", 240.0))
    scores = (
        Score("tool calls", (TriedExercise("a"),), 7, needed_s=12.0),
        Score("tasks", left=30, needed_s=300),
    )
    shown = "\n".join(describe(replace(RUN, scores=scores, left_depths=left)))
    assert re.search(r"^tool calls +1 of 1 +\d+% to 100% +7$", shown, re.M)
    assert re.search(r"^small tasks with tests +- +30$", shown, re.M)
    for said in ("1,024 tokens and deeper: no time, it takes about 80 s", "7 more", "30 more", "about 5 min"):
        assert said in shown
    old = {key: value for key, value in RUN.facts.items() if key != "left_depths"}
    assert BenchResult.from_facts(old) == RUN  # a run that an earlier kith has logged


def test_a_bench_that_measured_nothing_fails(folder: Path) -> None:
    class Stuck(Pupil):
        """Greets, then never answers again."""

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            if prompt.messages[-1].text != QUESTION:
                await asyncio.Event().wait()
            return await super().__call__(prompt, emit)

    with pytest.raises(ModelError, match="Nothing was measured"):
        take(Stuck(), 1.0, folder=folder)
