"""One conversation of an editor with kith, and the list of those it can go back to."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from acp.exceptions import RequestError
from acp.helpers import update_current_mode
from acp.schema import (
    AllowedOutcome,
    ConfigOptionUpdate,
    ListSessionsResponse,
    PermissionOption,
    PermissionOptionKind,
    PromptResponse,
    SessionInfo,
    SessionInfoUpdate,
    SessionModeState,
    StopReason,
    ToolCallUpdate,
)
from msgspec.structs import replace
from pydantic import ValidationError

from kith.agent.project import Project, Result, hold_servers
from kith.agent.tasks import Task, run_in, run_task
from kith.core.errors import KithError, NoModelError, UsageError
from kith.core.values import Answer, Image, Question
from kith.features.editors import prompts, tool_calls
from kith.features.editors.buffers import Buffers, tell_unsaved
from kith.features.editors.prompts import AUTO, WAYS, read_prompt
from kith.features.editors.updates import Outbox, Updates
from kith.features.editors.wire import Wire
from kith.features.route.command import show_why, why_text
from kith.memory.applied import short_id
from kith.memory.inbox import Inbox, Letter
from kith.memory.log import Log
from kith.memory.queries import conversations_before, roots_of
from kith.memory.session import Session
from kith.models.stack import Opened
from kith.view.evidence import word_evidence
from kith.view.markup import fenced
from kith.view.printing import printable
from kith.view.wording import always_words, question_text

# Questions as permission requests of the editor, and its answers.


# What an editor can offer of a question's choices; "say what to do differently" is the next prompt.
_OPTIONS: Final[dict[str, tuple[PermissionOptionKind, str]]] = {
    "all": ("allow_once", "Apply"),
    "planned": ("allow_once", "Apply only what was planned"),
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
        except ConnectionError:  # the editor has left, which is no answer: this is cancelled next
            await asyncio.get_running_loop().create_future()
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


# One conversation of an editor with kith, and the list of those it can go back to.


# The conversations that an editor can go back to, as the log has them.

PAGE: Final = 50
_TITLE: Final = 80  # characters


def list_conversations(log: Log, root: Path | None, cursor: str | None) -> ListSessionsResponse:
    """A page of the tasks and conversations of a folder, or of all. Raises UsageError for a wrong cursor."""
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 19):
        raise UsageError(f"{cursor!r} is not a cursor that kith gave.")
    before = int(cursor) if cursor else 1 << 62
    found: list[tuple[int, SessionInfo]] = []
    for each in conversations_before(log, before):
        if root is None or each.began.root == str(root):
            when = datetime.fromtimestamp(each.at, UTC).isoformat(timespec="seconds")
            title, cwd = title_of(each.began.task), printable(each.began.root)
            info = SessionInfo(session_id=each.session, cwd=cwd, title=title, updated_at=when)
            found.append((each.last, info))
        if len(found) > PAGE:
            break
    more = str(found[PAGE - 1][0]) if len(found) > PAGE else None
    return ListSessionsResponse(sessions=[info for _, info in found[:PAGE]], next_cursor=more)


def root_of(log: Log, session: str) -> str:
    """The folder of a session. Raises UsageError for one that the log does not know."""
    for root in roots_of(log, session):
        return root
    raise UsageError(f"There is no session {printable(session)!r}.")


def title_of(task: str) -> str:
    """A task in a line."""
    line = " ".join(printable(task).split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


_STEPS: Final = "steps"  # the word by which a limit of calls is told from one of tokens, time or money


class EditorConversation:
    """One session of one editor; `models` are the names that can be chosen, `reads`: it tells its buffers."""

    def __init__(
        self,
        project: Project,
        id: str,
        client: Any,
        wire: Wire,
        *,
        models: Sequence[str],
        reads: bool,
        by: str,
    ) -> None:
        self.project, self.id, self.by = project, id, by
        self.outbox = Outbox(client, id)
        self.updates = Updates(project.root, self.outbox.put)
        self._buffers = Buffers(client, id, project.root, reads)
        self._asker = Asker(self.outbox, wire, self.updates, self._buffers, project.root, by)
        self._way, self._model, self._models = AUTO, "", models
        self._opened: Opened | None = None
        self._turn: asyncio.Task[StopReason] | None = None

    # --- what the person chooses -------------------------------------------------------------

    @property
    def at_work(self) -> bool:
        return self._turn is not None

    @property
    def modes(self) -> SessionModeState:
        return prompts.mode_state(self._way)

    @property
    def options(self) -> prompts.Options:
        settings = self.project.settings
        return prompts.config_options(self._way, self._model, self._models, settings.model)

    def choose_way(self, id: str) -> None:
        """Set the mode of the next tasks. Raises UsageError."""
        if id not in WAYS:
            raise UsageError(f"There is no mode {id!r}; there are: {', '.join(WAYS)}.")
        self._way = WAYS[id]
        self.outbox.put(update_current_mode(id))
        options = self.options
        self.outbox.put(ConfigOptionUpdate(session_update="config_option_update", config_options=options))

    async def choose_model(self, name: str) -> None:
        """Set the model of the next tasks; it is opened when first asked."""
        self._model = "" if name == prompts.DEFAULT_MODEL else name
        if self._turn is None:  # else the present task keeps its own
            await self._let_go()

    def begin(self) -> None:
        """Tell the editor which commands there are, once it knows the session."""
        self.outbox.put(prompts.commands_update())

    def tell_again(self) -> None:
        """Send everything that happened in the session, from the log."""
        self.updates.again = True
        for record in self.project.log.events(self.id):
            self.updates.hear(record.event, record.path)
        self.updates.again = False

    # --- turns -------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[Any]) -> PromptResponse:
        """Do what a prompt says, to its end; while a task is at work, the words steer it."""
        given = read_prompt(blocks, self.project.root)
        words = given.words
        if not words:
            raise UsageError("The prompt is empty.")
        command, rest = prompts.split_command(words)
        if self._turn is not None:
            if command:
                raise UsageError(f"/{command} has to wait: kith is at work in this session.")
            if given.images:
                raise UsageError("Pictures have to wait: kith is at work in this session.")
            return PromptResponse(stop_reason=await self._steer(words))
        paths = [path.relative_to(self.project.root).as_posix() for path in given.linked]
        if unsaved := await self._buffers.unsaved(paths):
            self.updates.say(f"{tell_unsaved(unsaved)}: kith works with what is on the disk.")
        work = self._command(command, rest) if command else self._do(words, images=given.images)
        return PromptResponse(stop_reason=await self._take_turn(work))

    def cancel(self) -> None:
        """Stop what is at work; its prompt answers that it was cancelled."""
        if self._turn is not None:
            self._turn.cancel()

    async def close(self) -> None:
        """Leave: the log holds the conversation, and an interrupted task can be resumed."""
        self.cancel()
        if self._turn is not None:
            await asyncio.wait([self._turn])
        await self._let_go()
        if self.project.servers:
            await self.project.servers.aclose()

    async def _take_turn(self, work: Awaitable[StopReason]) -> StopReason:
        self._turn = turn = asyncio.ensure_future(work)
        try:
            await asyncio.wait([turn])
        except asyncio.CancelledError:  # the editor has gone
            turn.cancel()
            await asyncio.wait([turn])
            raise
        finally:
            self._turn = None
        await self.outbox.flush()
        return "cancelled" if turn.cancelled() else turn.result()

    async def _steer(self, words: str) -> StopReason:
        """Words for the model at work; what it did not hear any more is its next task."""
        inbox, turn = Inbox(self.project.log, self.id), self._turn
        self.updates.own.append(words)
        inbox.write(Letter(words, self.by))
        while turn is not None:
            await asyncio.wait([turn])
            if turn.cancelled():
                inbox.letters()
                return "cancelled"
            last, turn = turn, self._turn if self._turn is not turn else None
        unheard = inbox.letters()
        if unheard:
            return await self._take_turn(self._do("\n\n".join(letter.words for letter in unheard)))
        return last.result()

    async def _do(self, words: str, plans: bool = False, images: tuple[Image, ...] = ()) -> StopReason:
        """A task of this conversation."""
        task = Task(words, plan="show" if plans or self._way.plans else "no", images=images)
        if not self.project.log.last(self.id):
            title = SessionInfoUpdate(session_update="session_info_update", title=title_of(words))
            self.outbox.put(title)
        self.project = await hold_servers(self.project)
        project = self._chosen()
        with Session(project.log, self.id, [self.updates.hear]) as session:
            if not project.settings.is_routed:  # else each task opens those that it needs
                with suppress(NoModelError):  # the run itself says what to do about it
                    self._opened = self._opened or await project.open_model(session.emit)
            result = await run_in(project, session, task, self._asker.answer, self._opened)
        return _reason(result)

    def _chosen(self) -> Project:
        """The project as this conversation wants it: its mode, its model."""
        settings = self.project.settings
        settings = replace(settings, read_only=settings.read_only or self._way.read_only)
        if self._model:
            origin = {**settings.origin, "model": "the conversation"}
            settings = replace(settings, model=self._model, origin=origin)
        return replace(self.project, settings=settings)

    async def _let_go(self) -> None:
        held, self._opened = self._opened, None
        if held:
            await held.aclose()

    # --- commands ----------------------------------------------------------------------------

    async def _command(self, name: str, rest: str) -> StopReason:
        """One of the commands; a person's mistake costs one sentence."""
        try:
            if name == "plan":
                if not rest:
                    raise UsageError("Plan what? /plan TASK")
                return await self._do(rest, plans=True)
            if name == "resume":
                return await self._resume()
            self.updates.say(await self._undo(rest) if name == "undo" else self._show(name))
        except KithError as error:
            self.updates.say(str(error))
        return "end_turn"

    async def _resume(self) -> StopReason:
        task = Task("", resume=self.id)
        return _reason(await run_task(self._chosen(), task, self._asker.answer, [self.updates.hear]))

    async def _undo(self, rest: str) -> str:
        last = self.project.log.past(self.id).applied
        undone = await self.project.undo(rest or (last[-1].change_id if last else ""))
        names = ", ".join(file.path for file in undone.files)
        return f"Undid {names}. /undo {short_id(undone.change_id)} restores it."

    def _show(self, name: str) -> str:
        if name == "why":
            return "\n\n".join(map(why_text, show_why(self.project, self.id)["decisions"]))
        past = self.project.log.past(self.id)
        files = past.applied[-1].files if past.applied else past.proposed
        shown = "\n".join(file.diff.rstrip("\n") for file in files)
        return fenced(shown, "diff") if files else "Nothing was changed yet."


def _reason(result: Result) -> StopReason:
    """Return the protocol's reason for the end of a turn; the conversation has the details."""
    if result.report["status"] != "limit":
        return "end_turn"
    return "max_turn_requests" if _STEPS in result.report["text"] else "max_tokens"
