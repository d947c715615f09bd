"""Let a model plan before it writes, and tell which files of its plan exist."""

import json
from collections.abc import Iterable
from posixpath import normpath
from typing import Any, Final

from msgspec.structs import replace

from kith.core.errors import KithError
from kith.core.events import Planned
from kith.core.loop import converse
from kith.core.model import Role
from kith.core.run import Run, Thread, new_id
from kith.core.values import Plan, Question, say

REQUEST = """\
Plan first; you may only read now. Look at what you need, then answer with one JSON object and nothing else:
{"steps": ["..."], "assumptions": ["..."], "read": ["path"], "modify": ["path"], "questions": ["..."], \
"confidence": "high"}
steps: what you will do, in order. assumptions: what you take for granted. read and modify: files. \
questions: what is open. confidence: high, medium or low."""
GO = "The plan is accepted. Carry it out now; you may write."
TRIES = 3
_LISTS: Final = ("steps", "assumptions", "read", "modify", "questions")
_CONFIDENCES: Final = ("high", "medium", "low")


class PlanRejected(KithError):
    """The person said no to the plan."""


def with_request(words: str) -> str:
    """Words that ask for a plan first."""
    return f"{words}\n\n{REQUEST}"


async def agree_on_plan(run: Run, planner: Role, thread: Thread, ask: bool) -> Plan | None:
    """See to it that the thread holds a plan and the word to carry it out; None if it does already.

    Raises PlanRejected, or KithError when no sound plan came.
    """
    spoken = [message.text for message in thread.messages if message.role == "user"]
    asked = max((n for n, words in enumerate(spoken) if words.endswith(REQUEST)), default=-1)
    if GO in spoken[asked + 1 :]:
        return None
    with run.step("plan") as step:
        plan = await make_plan(step, planner, thread, ask)
    thread.add(run, say(GO, "kith"))
    return plan


async def make_plan(run: Run, planner: Role, thread: Thread, ask: bool) -> Plan:
    """Let the model plan until the plan is sound and, with `ask`, the person agrees.

    The thread must hold the request. Raises PlanRejected, or KithError when no sound plan came.
    """
    failures = 0
    while True:
        words = await converse(run, planner, thread)
        plan, fault = read_plan(words)
        if plan is None:
            failures += 1
            if failures == TRIES:
                raise KithError(f"The model wrote no usable plan in {TRIES} tries: {fault}")
            thread.add(run, say(with_request(fault), "plan"))
            continue
        plan = mark_absent(plan, await run.workspace.files())
        run.emit(Planned(plan))
        if not ask:
            return plan
        answer = await run.ask(Question(new_id(), "plan", "Go on with this plan?", ("yes", "no", "revise")))
        if answer.choice == "yes":
            return plan
        if answer.choice != "revise" or not answer.text:
            why = answer.text or "you rejected it"
            raise PlanRejected(f"The plan was not carried out: {why}. (--yes accepts plans.)")
        thread.add(run, say(with_request(answer.text), "person"))


def read_plan(words: str) -> tuple[Plan | None, str]:
    """The plan in a reply, or what is wrong with it in words for the model."""
    start, end = words.find("{"), words.rfind("}")
    data = _load(words[start : end + 1]) if 0 <= start < end else None
    if not isinstance(data, dict):
        return None, "Your reply holds no JSON object."
    lists: dict[str, tuple[str, ...]] = {}
    for key in _LISTS:
        value = data.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            return None, f'"{key}" must be a list of texts.'
        lists[key] = tuple(item.strip() for item in items if item.strip())
    if not lists["steps"]:
        return None, '"steps" must not be empty.'
    paths = {key: tuple(dict.fromkeys(map(normpath, lists.pop(key)))) for key in ("read", "modify")}
    confidence = str(data.get("confidence", "")).lower()
    return Plan(**lists, **paths, confidence=confidence if confidence in _CONFIDENCES else ""), ""


def mark_absent(plan: Plan, files: Iterable[str]) -> Plan:
    """The plan with those of its paths that are no file or folder among `files`."""
    there = {"."}
    for path in files:
        while path and path not in there:
            there.add(path)
            path = path.rpartition("/")[0]
    named = dict.fromkeys((*plan.read, *plan.modify))
    return replace(plan, absent=tuple(path for path in named if path not in there))


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        import json_repair

        return json_repair.loads(text)
