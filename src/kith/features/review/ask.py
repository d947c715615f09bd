"""Asking the model about one part of a change, and once more about what it finds most serious."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kith.core.errors import LimitError, ModelError
from kith.core.events import Notice
from kith.core.loop import begin_turn
from kith.core.model import Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import Finding, say
from kith.features.review.claims import SHAPE, Claim, read_claims
from kith.features.review.parts import Part

TRIES: Final = 2
_DEFINED: Final = "For reference, as it stands after the change; not itself to be reviewed:"
_AGAIN: Final = (
    "Look at one of your findings again, as somebody who doubts it:\n\n{path}, line {line}: {why}\n\n"
    "Is there an input that can occur for which the code, as shown, really goes wrong? Trace it. Answer with "
    'one JSON object and nothing else: {{"input": "...", "real": true or false}}'
)
_VERDICT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"input": {"type": "string"}, "real": {"type": "boolean"}},
    "required": ["input", "real"],
}


async def ask_about(run: Run, role: Role, thread: Thread, part: Part, context: str) -> tuple[Claim, ...]:
    """What the model claims of a part. Raises ModelError, LimitError; also when it cannot be read."""
    begin_turn(run, thread, say(_letter(part, context), "kith"))
    fault = ""
    for attempt in range(1, TRIES + 1):
        claims, fault = read_claims(await _answer(run, role, thread, SHAPE, attempt))
        if not fault:
            return claims
        if attempt < TRIES:
            thread.add(run, say(f"{fault} Send the whole object again.", "kith"))
    raise ModelError(f"{role.model.name} wrote no findings that can be read: {fault}")


async def is_confirmed(run: Run, role: Role, thread: Thread, finding: Finding) -> bool:
    """Whether the model stands by a finding when it is asked again; all but a no is a yes.

    `thread` is the one in which the part was asked about: its words are in the server's cache.
    """
    words = _AGAIN.format(path=finding.path, line=finding.line, why=finding.text)
    begin_turn(run, thread, say(words, "kith"))
    try:
        return not _denies(await _answer(run, role, thread, _VERDICT, 1))
    except (ModelError, LimitError) as error:
        run.emit(Notice(f"There was no second look at {finding.path}, line {finding.line}: {error}"))
        return True


def _letter(part: Part, context: str) -> str:
    head = f"Review this part of the change, in {part.path}:\n\n{part.text}"
    return f"{head}\n\n{_DEFINED}\n\n{context}" if context else head


async def _answer(run: Run, role: Role, thread: Thread, shape: Mapping[str, Any], attempt: int) -> str:
    """One reply, added to the thread. A review looks at what it was shown, so it has no tools."""
    prompt = Prompt(
        role.system, thread.messages, (), role.purpose, attempt, role.sampling, thread.name, shape
    )
    reply = await role.model(prompt, run.emit)
    thread.add(run, replace(reply.message, complete=reply.stop != "length"))
    return reply.message.text


def _denies(words: str) -> bool:
    start, end = words.find("{"), words.rfind("}")
    try:
        data = json.loads(words[start : end + 1], strict=False)
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("real") is False
