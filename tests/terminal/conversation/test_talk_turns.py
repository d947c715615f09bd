"""Turns of one conversation, and a task's turns with its gates: what the model is told is what happened."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import field
from msgspec.structs import replace

from kith.agent.project import Project, Result
from kith.agent.tasks import Task, run_in, run_task
from kith.core.events import Said
from kith.core.model import Emit, Prompt
from kith.core.values import Answer, Question, Reply
from kith.edits import keep_hunks
from kith.features.demo.replay import Replay
from kith.memory.session import Session
from kith.models.stack import look
from mending import CHECK, DONE, NEW, OLD, blocks, edit


class Listening(Replay):
    """A scripted model that keeps what it was sent, and holds it to what strict chat templates accept."""

    prompts: list[Prompt] = field(default_factory=list)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.prompts.append(prompt)
        check_order(prompt)
        return await super().__call__(prompt, emit)

    @property
    def told(self) -> str:
        """The newest message."""
        return self.prompts[-1].messages[-1].text


def listening(*replies: Any) -> Listening:
    return Listening("replay/turns", list(replies))


def check_order(prompt: Prompt) -> None:
    """User and assistant take turns (calls and their results aside), and every call has one result."""
    spoken = [m.role for m in prompt.messages if m.role != "tool" and not m.calls]
    assert all(a != b for a, b in pairwise(spoken)), spoken
    calls = [call.id for message in prompt.messages for call in message.calls]
    assert calls == [result.call_id for message in prompt.messages for result in message.results]


class Talk:
    """One conversation with a person who answers as told."""

    def __init__(self, root: Path, model: Listening, check: str = "none", **flags: Any) -> None:
        self.app = Project.open(root, {"check": (check,), **flags})
        self.model, self.answers, self.id = model, list[Answer](), "talk"

    def __call__(self, words: str, *answers: Answer, plan: Any = "no") -> Result:
        self.answers = list(answers)

        async def answer(question: Question) -> Answer:
            return self.answers.pop(0)

        async def turn() -> Result:
            with Session(self.app.log, self.id) as session:
                opened = await look(self.model, self.app.log.card, 0, session.emit)
                return await run_in(self.app, session, Task(words, plan), answer, opened)

        return asyncio.run(turn())


YES, NO = Answer("all"), Answer("none")
PLAN = json.dumps({"steps": ["do it"]})


def test_a_refused_change_is_told_to_the_model(repository: Path) -> None:
    model = listening(edit(), DONE, "Understood.")
    talk = Talk(repository, model)
    assert talk("fix mean", NO).report["status"] == "rejected"
    talk("why?")
    assert model.told == "Your last change was not applied: the files are as they were before it.\n\nwhy?"


@pytest.mark.slow
def test_a_change_that_was_taken_back_is_told_and_one_that_was_brought_again_is_not(repository: Path) -> None:
    model = listening(edit(), DONE, "Hm.", edit(), DONE, "Fine.")
    talk = Talk(repository, model)
    talk("fix mean", YES)
    asyncio.run(talk.app.undo())
    talk("and now?")
    assert "was taken back" in model.told
    talk("fix it again", YES)
    undone = asyncio.run(talk.app.undo())
    asyncio.run(talk.app.undo(undone.change_id))
    talk("good?")
    assert model.told == "good?"


def test_what_a_person_kept_is_told(repository: Path) -> None:
    both = blocks('"""Small helpers for numbers."""\n', '"""Helpers."""\n') + blocks(OLD, NEW)
    model = listening(both, "ok")
    talk = Talk(repository, model)
    change = {}

    async def keep_some(question: Question) -> Answer:
        (whole,) = question.changes
        change["kept"] = whole.after.replace(b'"""Helpers."""', b'"""Small helpers for numbers."""')
        return Answer("some", changes=(replace(whole, after=change["kept"]),))

    async def turn() -> None:
        with Session(talk.app.log, talk.id) as session:
            opened = await look(model, talk.app.log.card, 0, session.emit)
            await run_in(talk.app, session, Task("fix both"), keep_some, opened)

    asyncio.run(turn())
    assert (repository / "utils.py").read_bytes() == change["kept"]
    talk("go on")
    assert model.told.startswith(
        "Of your last change the person kept only a part:\n- utils.py: written differently"
    )
    assert f"+{NEW}" in model.told and "Helpers" not in model.told.replace("Small helpers", "")


TWO_PARTS = blocks('"""Small helpers for numbers."""\n', '"""Helpers."""\n') + blocks(
    "    return max(low, min(number, high))\n", "    return min(high, max(number, low))\n"
)


def keep_first(talk: Talk, choice: str, text: str) -> Any:
    """An answer that keeps the first of two parts."""

    async def answer(question: Question) -> Answer:
        if talk.answers:
            return talk.answers.pop(0)
        talk.answers = [Answer("all")]
        return Answer(choice, text, changes=(keep_hunks(question.changes[0], {0}),))

    return answer


def do(talk: Talk, words: str, answerer: Any) -> None:
    async def turn() -> None:
        with Session(talk.app.log, talk.id) as session:
            opened = await look(talk.model, talk.app.log.card, 0, session.emit)
            await run_in(talk.app, session, Task(words), answerer, opened)

    asyncio.run(turn())


def test_what_is_sent_back_is_taken_out_and_told(repository: Path) -> None:
    model = listening(TWO_PARTS, "As you wish.")
    talk = Talk(repository, model)
    do(talk, "tidy up", keep_first(talk, "revise", "no, keep the order"))
    text = (repository / "utils.py").read_text()
    assert '"""Helpers."""' in text and "max(low, min(number, high))" in text
    assert model.told.startswith("no, keep the order\n\nOf your change only a part stays in the files:")
    assert "+    return min(high, max(number, low))" in model.told


def test_why_something_was_left_out_is_told_with_the_next_task(repository: Path) -> None:
    model = listening(TWO_PARTS, "I see.")
    talk = Talk(repository, model)
    do(talk, "tidy up", keep_first(talk, "some", "keep the order"))
    talk("go on")
    assert "left out" in model.told and "They said of it: keep the order" in model.told


def test_words_with_a_no_are_told_with_the_next_task(repository: Path) -> None:
    model = listening(TWO_PARTS, "I see.")
    talk = Talk(repository, model)
    talk("tidy up", Answer("none", "not today"))
    talk("what now?")
    assert "was not applied" in model.told and "They said of it: not today" in model.told


@pytest.mark.slow
def test_after_a_refused_task_the_next_one_starts_afresh(repository: Path) -> None:
    model = listening(edit(OLD, OLD.replace("+ 1", "+ 2")), DONE, edit(), DONE)
    talk = Talk(repository, model, CHECK, tries=1)
    assert talk("fix mean", NO).report["status"] == "rejected"
    assert talk("try again", YES).report["status"] == "done"
    assert NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_each_plan_of_a_conversation_is_made_and_carried_out(repository: Path) -> None:
    back = edit(NEW, OLD)
    model = listening(PLAN, edit(), DONE, PLAN, back, DONE)
    talk = Talk(repository, model)
    assert talk("fix mean", Answer("yes"), YES, plan="show").report["status"] == "done"
    assert talk("undo that by hand", Answer("yes"), YES, plan="show").report["status"] == "done"
    assert OLD in (repository / "utils.py").read_text()


def test_a_plan_is_corrected_in_words(repository: Path) -> None:
    model = listening(PLAN, {"expect": "^smaller steps", "text": PLAN}, edit(), DONE)
    talk = Talk(repository, model)
    correction = Answer("revise", "smaller steps")
    assert talk("fix mean", correction, Answer("yes"), YES, plan="show").report["status"] == "done"


def test_words_at_the_question_do_not_use_up_tries(repository: Path) -> None:
    steps = [OLD.replace("+ 1", f"+ {n}") for n in (1, 2, 3, 4)] + [NEW]
    replies = [reply for a, b in pairwise(steps) for reply in (edit(a, b), DONE)]
    talk = Talk(repository, listening(*replies), tries=2)
    again = [Answer("revise", f"not yet {n}") for n in range(3)]
    assert talk("fix mean", *again, YES).report["status"] == "done"
    assert NEW in (repository / "utils.py").read_text()


def test_edits_that_do_not_fit_leave_nothing_half_done(repository: Path) -> None:
    half = blocks(OLD, NEW) + "utils.py/inner.txt\n```\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n```\n"
    model = listening(half, "Then I cannot.")
    report = Talk(repository, model)("fix mean").report
    assert report["changes"] == [] and OLD in (repository / "utils.py").read_text()
    assert "utils.py" in model.told


def test_edits_beside_a_tool_call_are_asked_for_again(repository: Path) -> None:
    model = listening(
        {"text": blocks(OLD, NEW), "calls": [{"name": "list", "args": {}}]}, DONE, blocks(OLD, NEW)
    )
    report = Talk(repository, model)("fix mean", YES).report
    assert report["status"] == "done" and "beside tool calls" in model.told


def test_an_empty_reply_is_no_answer(repository: Path) -> None:
    asked = "What does mean do?"
    for reply in ("", {"thinking": "hm"}, "...", "what does mean do"):
        model = listening(reply, "It is a mean.")
        assert Talk(repository, model)(asked).report["text"] == "It is a mean."
    mute = Talk(repository, listening(asked, "?!", "It is a mean."))
    report = mute(asked).report
    assert report["status"] == "failed" and "no answer" in report["text"]


def test_a_reply_that_was_cut_is_not_taken_after_a_crash_either(repository: Path) -> None:
    cut = {"text": blocks(OLD, NEW), "stop": "length"}
    talk = Talk(repository, listening(cut))
    said: list[Said] = []

    class Crash(BaseException):
        """The plug is pulled."""

    async def turn() -> None:
        with Session(talk.app.log, talk.id) as session:

            def listen(event: Any, path: tuple[str, ...]) -> None:
                if isinstance(event, Said):
                    said.append(event)
                    if event.message.role == "assistant":
                        raise Crash

            session.listeners.append(listen)
            opened = await look(talk.model, talk.app.log.card, 0, session.emit)
            await run_in(talk.app, session, Task("fix mean"), lambda question: None, opened)  # type: ignore[arg-type,return-value]

    with pytest.raises(Crash):
        asyncio.run(turn())
    script = repository.parent / "rest.json"
    script.write_text(json.dumps([{"expect": "cut at the token limit", "text": "I stop here."}]))
    app = Project.open(repository, {"model": f"replay/{script}"})
    report = asyncio.run(run_task(app, Task("", resume="talk"), lambda question: None)).report  # type: ignore[arg-type,return-value]
    assert report["text"] == "I stop here." and OLD in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_a_direct_request_answers_for_what_passed_before(repository: Path) -> None:
    talk = Talk(repository, listening())
    talk.app = Project.open(repository, {"check": ("false", "grep -q 'len(numbers) + 1' utils.py")})
    report = talk('replace "+ 1)" with ")" in utils.py', YES).report
    assert report["status"] == "failed" and OLD in (repository / "utils.py").read_text()
    reasons = {each["ok"]: each["reason"] for each in report["receipt"]["checks"]["after"]}
    assert reasons[False] and not reasons.get(True)


@pytest.mark.slow
def test_the_receipt_speaks_of_the_last_proposal_only(repository: Path) -> None:
    bad = "utils.py\n```python\n<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE\n```\n"
    later = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": NEW, "new": OLD}}]}
    talk = Talk(repository, listening(edit(), DONE, later, bad), CHECK, tries=1)
    report = talk("fix mean", Answer("revise", "differently")).report
    assert report["status"] == "failed"
    assert [each["of_this_change"] for each in report["receipt"]["checks"]["after"]] == [False]
    assert report["receipt"]["not_checked"]
