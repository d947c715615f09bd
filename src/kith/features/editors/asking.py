"""Questions as permission requests of the editor, and its answers."""

import asyncio
from pathlib import Path
from typing import Final

from acp.exceptions import RequestError
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, ToolCallUpdate
from pydantic import ValidationError

from kith.core.values import Answer, Question
from kith.features.editors import tool_calls
from kith.features.editors.buffers import Buffers, tell_unsaved
from kith.features.editors.updates import Outbox, Updates
from kith.features.editors.wire import Wire
from kith.view.evidence import word_evidence
from kith.view.printing import printable
from kith.view.wording import always_words, question_text

# What an editor can offer of a question's choices; "say what to do differently" is the next prompt.
_OPTIONS: Final[dict[str, tuple[PermissionOptionKind, str]]] = {
    "all": ("allow_once", "Apply"),
    "yes": ("allow_once", "Yes"),
    "always": ("allow_always", "Always in this project"),
    "none": ("reject_once", "Do not apply"),
    "no": ("reject_once", "No"),
}
_NO: Final = {"change": "none"}  # any other kind: "no"


class Asker:
    """Puts a session's questions to the editor; `by` names it on other screens."""

    def __init__(
        self, outbox: Outbox, wire: Wire, updates: Updates, buffers: Buffers, root: Path, by: str
    ) -> None:
        self._outbox, self._wire, self._updates = outbox, wire, updates
        self._buffers, self._root, self._by = buffers, root, by

    async def answer(self, question: Question) -> Answer:
        """The person's answer; a change waits until what the editor has not saved is safe."""
        call = tool_calls.asked(question, self._contents(question), self._root)
        self._outbox.put(tool_calls.started(call))
        paths = [change.path for change in question.changes if change.before is not None]
        while True:
            if open_ones := await self._buffers.unsaved(paths):
                note = f"{tell_unsaved(open_ones)}: save or discard them before you apply this."
                call = _with_note(call, note)
            choice = await self._request(question, call)
            if choice in _NO.values() or choice == "no" or not paths:
                return Answer(choice, by=self._by)
            if not (open_ones := await self._buffers.unsaved(paths)):
                return Answer(choice, by=self._by)
            self._updates.say(f"Not applied yet: {tell_unsaved(open_ones)}.")

    async def _request(self, question: Question, call: ToolCallUpdate) -> str:
        """One of the question's choices; what is cancelled or unknown means no."""
        offered = _offered(question)
        await self._outbox.flush()
        try:
            response = await self._outbox.client.request_permission(
                session_id=self._outbox.session, tool_call=call, options=offered
            )
        except asyncio.CancelledError:
            await self._wire.take_back(call.tool_call_id)
            raise
        except (RequestError, ValidationError) as error:
            self._updates.say(f"The editor could not ask, which counts as no: {error}")
            return _NO.get(question.kind, "no")
        no, outcome = _NO.get(question.kind, "no"), response.outcome
        known = {option.option_id for option in offered}
        return outcome.option_id if isinstance(outcome, AllowedOutcome) and outcome.option_id in known else no

    def _contents(self, question: Question) -> tool_calls.Contents:
        if question.kind == "change":
            careful = "\n".join(question.warnings)
            evidence = word_evidence(question.evidence) if question.evidence else ""
            warned = [tool_calls.words(words) for words in (careful, evidence) if words]
            return [*warned, *tool_calls.diffs(question.changes, self._root)]
        shown = question.draft or self._updates.plan_words() if question.kind == "plan" else ""
        parts = [question_text(question), shown, always_words(question)]
        return [tool_calls.words("\n\n".join(filter(None, parts)))]


def _offered(question: Question) -> list[PermissionOption]:
    """Return the person's choices, yes before no."""
    choices = [choice for choice in _OPTIONS if choice in question.choices]
    no = _NO.get(question.kind, "no")
    choices += [no] if no not in choices else []
    return [
        PermissionOption(option_id=choice, kind=_OPTIONS[choice][0], name=_name(question, choice))
        for choice in choices
    ]


def _name(question: Question, choice: str) -> str:
    """Name a choice: "always" says what it allows, since some editors show nothing else."""
    always = always_words(question).replace("\n", " ⏎ ") if choice == "always" else ""
    return always or _OPTIONS[choice][1]


def _with_note(call: ToolCallUpdate, note: str) -> ToolCallUpdate:
    contents = [tool_calls.words(printable(note)), *(call.content or ())]
    return call.model_copy(update={"content": contents})
