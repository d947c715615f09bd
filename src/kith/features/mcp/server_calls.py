"""Run the session of a tool call: report its progress, and pass its questions to a person.

The session is watched through the log, like any other screen. So a question may be answered in the client's
own form, on the page or in a terminal: the first answer wins. The client's protocol decides how a form is
shown: until 2025-11-25 by a request of ours during the call. Since 2026-07-28 it is a result that wants
input, after which the client calls again.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct, field

from kith.core.errors import UsageError
from kith.core.events import Notice, Stepped
from kith.core.values import Answer, Question
from kith.features.web.desk import Desk
from kith.memory.live import LiveReader, read_seen
from kith.view.evidence import word_evidence
from kith.view.items import AskedQuestion, GateVerdict, Item, Items, Note, ToolUse, WorkPart
from kith.view.printing import printable
from kith.view.wording import always_words, line_of, question_text, with_asker, word_size

# A question as a form of the client's: what it says, which fields it has, what was answered in it.

LONGEST: Final = 16_000  # characters: nobody says yes to what a form does not show whole
_UNSAID: Final = ("edit", "some")  # choices that need more than a word


def words_of(question: Question, warnings: Sequence[str] = ()) -> str:
    """The question with all that it is about, nothing of it hidden, and what kith warned of before."""
    return "\n".join(_lines(question, warnings))


def _lines(question: Question, warnings: Sequence[str]) -> Iterator[str]:
    if question.evidence:
        yield word_evidence(question.evidence)
    yield printable(question_text(question))
    yield from map(printable, warnings)
    if always := always_words(question):
        yield always
    if question.files:
        yield word_size(question.files)
    for file in question.files:
        yield ""
        yield from map(printable, file.diff.rstrip("\n").split("\n"))
    if question.draft:
        yield ""
        yield from map(printable, question.draft.split("\n"))


def form_of(question: Question) -> dict[str, Any]:
    """The form's fields as JSON Schema: yes or no for a change, else one of the choices; and words."""
    words = {"type": "string", "title": "Or say what should be different", "default": ""}
    if question.kind == "change":
        yes = {"type": "boolean", "title": "Yes, do it", "default": False}
        return {"type": "object", "properties": {"yes": yes, "words": words}, "required": ["yes"]}
    choices = [each for each in question.choices if each not in (*_UNSAID, "revise")]
    if not choices:
        words = {"type": "string", "title": "Your answer"}
        return {"type": "object", "properties": {"words": words}, "required": ["words"]}
    choice = {"type": "string", "title": "Your choice", "enum": choices}
    fields = {"choice": choice} | ({"words": words} if "revise" in question.choices else {})
    return {"type": "object", "properties": fields, "required": ["choice"]}


def answer_of(question: Question, said: ElicitResult, by: str) -> Answer:
    """Read an answer. A declined or closed form is a no, and so is all but a clear yes."""
    fields = (said.content or {}) if said.action == "accept" else {}
    words = str(fields.get("words") or "").strip()
    if question.kind == "change":
        if fields.get("yes") is True:
            return Answer("all", by=by)
        return Answer("revise" if words and "revise" in question.choices else "none", words, by=by)
    if not question.choices:
        return Answer("yes" if words else "no", words, by=by)
    choice = fields.get("choice")
    if words and "revise" in question.choices and choice not in ("yes", "always"):
        return Answer("revise", words, by=by)
    known = isinstance(choice, str) and choice in question.choices and choice not in _UNSAID
    return Answer(str(choice) if known else "no", by=by)


_LOOK_S = 0.1  # between two looks into the log
TOO_LATE = "nobody, in time"  # who gave the answer that nobody gave
_LOST_S = 15.0  # after which a worker that nobody sees at work will not come


class Call(Struct):
    """A tool call's session. `task` does its work here; None where a process of its own does it."""

    session: str
    watch: LiveReader
    task: "asyncio.Task[Any] | None" = None
    ended: bool = False
    waiting: bool = False  # for an answer that nobody gave in time
    asked: str = ""  # the last question that the client's form was to show, by its id
    told: int = 0  # steps
    lost: float = 0.0  # when nobody was seen at work any more, by the loop's clock
    form: "asyncio.Task[None] | None" = None
    items: Items = field(default_factory=Items)

    @property
    def over(self) -> bool:
        return self.waiting or (self.task.done() if self.task else self.ended)

    def close_form(self) -> None:
        if self.form:
            self.form.cancel()
            self.form = None


class Attendant(Struct):
    """Attends to calls until they are over. `forms`: whether clients may ask the person in a form of theirs.

    `patience_s`: how long an answer is waited for. Without one a change that an agent made is not applied; a
    task that kith does goes on waiting without the agent.
    """

    desk: Desk
    patience_s: float
    forms: bool = True
    held: dict[str, Call] = field(default_factory=dict)  # calls that a form interrupts, by session

    async def attend(self, call: Call, context: Context[Any, Any]) -> InputRequiredResult | None:
        """See to a call until it is over; a result is what the client has to answer before it calls again."""
        try:
            while not call.over:
                await self._tell(call, context)
                if not call.over and (wanted := self._see_to_question(call, context)):
                    self.held[call.session] = call
                    return wanted
                await _pause(call)
            await self._tell(call, context)
        except asyncio.CancelledError:
            self.stop(call)
            raise
        finally:
            call.close_form()
        return None

    def resume(self, context: Context[Any, Any]) -> Call | None:
        """The call that a form has interrupted, with what was answered there; None for a new one.

        Raises UsageError for a call that nobody remembers.
        """
        if not context.request_state:
            return None
        call = self.held.pop(context.request_state, None)
        if call is None:
            raise UsageError("This call is over; call again.")
        question = self.desk.question(call.session)
        said = (context.input_responses or {}).get(call.asked)
        if question and question.id == call.asked and isinstance(said, ElicitResult):
            self.desk.answer(call.session, question.id, answer_of(question, said, _name_of(context)))
        return call

    def stop(self, call: Call) -> None:
        """The client wants the call to end: so does the session."""
        if call.task is None:
            self.desk.stop(call.session, "the client of kith mcp")
        else:
            call.task.cancel()

    async def _tell(self, call: Call, context: Context[Any, Any]) -> None:
        """Report what happened since as progress: a number that grows, and a line."""
        line = ""
        more = True
        while more:
            for seen in call.watch.look():
                call.ended = call.ended or seen.kind == "RunEnded"
                if seen.stored:
                    for changed in call.items.take(read_seen(seen), seen.path, seen.at, seen.position.seq):
                        line = progress_line(changed.item) or line
            more = call.watch.more
        if line:
            call.told += 1
            await context.report_progress(call.told, message=printable(line))
        if call.task is None and not call.ended:
            self._look_for_worker(call)

    def _look_for_worker(self, call: Call) -> None:
        """Give a task up that no process works on."""
        now = asyncio.get_running_loop().time()
        if self.desk.is_working(call.session):
            call.lost = 0.0
        else:
            call.lost = call.lost or now
            call.ended = now - call.lost > _LOST_S

    # --- questions ---------------------------------------------------------------------------

    def _see_to_question(self, call: Call, context: Context[Any, Any]) -> InputRequiredResult | None:
        """Show a new question in the client's form. A result where the form comes by way of one."""
        question = self.desk.question(call.session)
        if question is None or question.id == call.asked:
            return None
        call.asked = question.id
        call.close_form()
        form = self._form(call, question)
        shown = self.forms and can_show(context, form)
        if not shown and call.task is None:
            call.waiting = True  # it waits by itself
            return None
        asyncio.get_running_loop().call_later(self.patience_s, self._give_up, call, question)
        if shown and context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            asked = ElicitRequest(params=form)
            return InputRequiredResult(input_requests={question.id: asked}, request_state=call.session)
        if shown:
            call.form = asyncio.ensure_future(self._ask(call, question, form, context))
        return None

    def _form(self, call: Call, question: Question) -> ElicitRequestFormParams:
        words = words_of(question, self.desk.log.past(call.session).notices)
        return ElicitRequestFormParams(message=words, requested_schema=form_of(question))

    async def _ask(
        self, call: Call, question: Question, form: ElicitRequestFormParams, context: Context[Any, Any]
    ) -> None:
        """Ask in a form, in the midst of the call; where that fails others may still answer."""
        with suppress(MCPError, ValueError):
            said = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
            self.desk.answer(call.session, question.id, answer_of(question, said, _name_of(context)))

    def _give_up(self, call: Call, question: Question) -> None:
        """Nobody answered in time: what an agent wants is not done then."""
        if call.over:
            return
        if call.task is None:
            call.waiting = call.asked == question.id
        else:
            self.desk.answer(call.session, question.id, Answer("none", by=TOO_LATE, unasked=True))


def progress_line(item: Item) -> str:
    """An item in a line, for the time that a call lasts; "" for one that tells a client nothing."""
    match item:
        case WorkPart(step=Stepped(state="began", name=name)):
            return name
        case AskedQuestion(question=question, answer=None):
            return f"A person is asked: {with_asker(question)}"
        case ToolUse() | GateVerdict() | Note(event=Notice()):
            return line_of(item)[1].strip().split("\n")[0]
        case _:
            return ""


def can_show(context: Context[Any, Any], form: ElicitRequestFormParams) -> bool:
    """True if the client has forms, and this one fits the whole question."""
    able = context.client_capabilities
    forms = able.elicitation if able else None
    if forms is None or (forms.form is None and forms.url is not None):
        return False
    return len(form.message) <= LONGEST


def _name_of(context: Context[Any, Any]) -> str:
    """Return the client's name for the log."""
    client = context.session.client_params
    return f"a form of {client.client_info.name}" if client else "a form"


async def _pause(call: Call) -> None:
    """Wait a moment, less when the work is done."""
    if call.task:
        await asyncio.wait([call.task], timeout=_LOOK_S)
    else:
        await asyncio.sleep(_LOOK_S)
