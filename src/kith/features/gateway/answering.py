"""Answer a request of another program with the model that it names or that kith chooses, or say why not."""

import asyncio
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from kith import __version__
from kith.agent.asking.roles import find_role, role_names
from kith.agent.asking.terms import Terms
from kith.agent.failed_runs import telling_end
from kith.agent.project import Project
from kith.agent.roles import RoleSpec, is_small, make_words
from kith.context.task_kinds import kind_of
from kith.core.errors import BusyError, KithError, LimitError, ModelError, NoModelError, UsageError
from kith.core.events import Delta, Event, Options, RunEnded, RunStarted, is_transient
from kith.core.model import Emit, Prompt, Tool
from kith.core.run import Run, new_id
from kith.core.values import Answer, Consent, Message, Question, Reply, Sampling, ToolResult
from kith.features.gateway.open_models import HeldModel, OpenModels
from kith.memory.session import Session
from kith.models.dialects.read import read_choice, shape_of
from kith.models.providers.faults import MissingModelError, UnsupportedError
from kith.models.stack import Opened
from kith.models.wrappers.gate import Sending
from kith.settings import Brought, Settings
from kith.settings.values import ROUTE

# What another program asks of a model, and the roles that it may name.

PURPOSE: Final = "endpoint"


class ChatRequest(Struct, frozen=True):
    """One request. `model` is a name as after -m, or "route".

    `must_call`: the reply has to be a call of one of the tools. `shape`: a JSON Schema that its text has to
    follow.
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    must_call: bool = False
    sampling: Sampling = Sampling()
    shape: Mapping[str, Any] | None = None
    purpose: str = PURPOSE

    @property
    def words(self) -> str:
        """The last user message."""
        said = (message.text for message in reversed(self.messages) if message.role == "user")
        return next(said, "")

    def prompt(self, defaults: Sampling) -> Prompt:
        """The request as models get it; `defaults` holds where it says nothing."""
        given = {name: value for name, value in asdict(self.sampling).items() if value not in (None, ())}
        sampling = replace(defaults, **given)
        shape = call_shape(self.tools) if self.must_call else self.shape
        return Prompt(self.system, self.messages, self.tools, self.purpose, sampling=sampling, shape=shape)


def call_shape(tools: Sequence[Tool]) -> Mapping[str, Any]:
    """The JSON Schema of one call of one of the tools; of nothing else, not even words."""
    return {"oneOf": shape_of(tools)["oneOf"][: len(tools)]}


def foreign_tool(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
    """A tool of the client: its calls are passed on, and nothing here ever runs it."""
    return Tool(name, description, schema, "exec", _never)


async def _never(args: Mapping[str, Any], run: Run) -> ToolResult:
    raise AssertionError("a tool of another program was run")


# The roles that others may ask a model to play: those of kith, and the person's own; never a project's.


def list_roles(chosen: Settings) -> dict[str, RoleSpec]:
    """Every role by its name. Raises UsageError for one of the person's own that is badly written."""
    own, none_of_a_project = chosen.roles, replace(chosen, brought=Brought())
    names = {path.stem for path in own.glob("*.md")} if own.is_dir() else set[str]()
    return {name: find_role(name, none_of_a_project) for name in sorted(names | set(role_names()))}


def words_of(spec: RoleSpec, window: int) -> str:
    """A role's words as a model with this window (in tokens, 0: unknown) gets them."""
    return make_words(spec, small=is_small(window)).rstrip()


def in_role(request: ChatRequest, spec: RoleSpec, window: int) -> ChatRequest:
    """The request, with the role's words before its own."""
    system = "\n\n".join(filter(None, (words_of(spec, window), request.system)))
    return replace(request, system=system, purpose=spec.purpose)


# Answer one request of another program with the model that it names or that kith chooses, or say why
# not.

_TITLE: Final = 80  # characters of what is asked that the log keeps


class UnconsentedError(NoModelError):
    """A model in the cloud, and the person has not agreed beforehand that others' requests go there."""


async def answer(
    project: Project, models: OpenModels, request: ChatRequest, listen: Emit, id: str = ""
) -> Reply:
    """The model's reply to a request, in a session of its own (called `id` if given).

    `listen` hears what happens, Delta by Delta. The log has the model and its cost; the conversation stays
    with the client, except for the beginning. Raises NoModelError, UnconsentedError, ModelError, LimitError.
    """
    with Session(project.log, id or new_id()) as session:

        def tell(event: Event, path: tuple[str, ...]) -> None:
            if not is_transient(event):
                session.emit(event, path)
            listen(event)

        run = Run(tell, _nobody, project.tree)
        title = textwrap.shorten(request.words, _TITLE, placeholder=" ...") or "(nothing was said)"
        run.emit(RunStarted(title, "", request.model, __version__, Options(PURPOSE)))
        try:
            with telling_end(run.emit):
                _check_name(project.settings, request.model)
                reply = await _ask(_Loan(project, run, session.id, models), request)
        except asyncio.CancelledError:
            run.emit(RunEnded("interrupted", "The client is gone."))
            raise
        except Exception as error:
            run.emit(RunEnded("failed", f"A bug in kith: {error!r}"))
            raise
        run.emit(RunEnded("done", f"{reply.model} answered."))
        return reply


class _Loan(Terms):
    """Terms whose models come from those that are kept open, and go back there when the request is over."""

    def __init__(self, project: Project, run: Run, session: str, models: OpenModels) -> None:
        super().__init__(project, run, session)
        self.models = models
        self.held: list[HeldModel] = []

    async def open(self, name: str = "") -> Opened:
        held = await self.models.take(self.project, name, self.run.emit)
        self.held.append(held)
        await self.admit(held.opened)
        return held.opened

    async def permit(self, sending: Sending) -> None:
        """Only what was agreed to beforehand: behind a request there is nobody who could be asked."""
        if not self.is_agreed(Consent(sending.model, sending.server, sending.group)):
            raise UnconsentedError(
                f'{sending.model} is in the cloud and needs your consent: answer "always" when '
                'kith asks, or set cloud = "allow".'
            )
        await super().permit(sending)

    def end(self, *, failed: bool) -> None:
        """Give the models back, and keep what they taught."""
        for held in self.held:
            self.models.give_back(held, failed=failed)
        for held in self.held:
            self.project.learn(self.run, self.session, held.opened)


def _check_name(chosen: Settings, name: str) -> None:
    """Raise NoModelError for a path, unless the person chose it: strangers open no files."""
    place, _, _ = name.partition("/")
    is_weights = name.casefold().endswith(".gguf") and (place == "file" or name[0] in "./~")
    is_path = place == "replay" or is_weights
    if is_path and name != chosen.model:
        raise NoModelError(f"{name!r} is a file: only the person who starts kith can choose one.")


async def _ask(loan: _Loan, request: ChatRequest) -> Reply:
    failed = False
    try:
        return await (_ask_in_turn if request.model == ROUTE else _ask_one)(loan, request)
    except (ModelError, NoModelError) as error:
        failed = not isinstance(error, UnconsentedError) and not getattr(error, "overflow", False)
        raise
    finally:
        loan.end(failed=failed)


async def _ask_one(loan: _Loan, request: ChatRequest) -> Reply:
    return await _call(loan, await loan.open(request.model), request)


async def _ask_in_turn(loan: _Loan, request: ChatRequest) -> Reply:
    """The reply of the model that kith chooses, or of the next one where that cannot answer."""
    from kith.agent.relay import GivenUp
    from kith.features.route.beliefs import Task
    from kith.features.route.choose import look_around
    from kith.features.route.relay import Relay  # with all that learns

    project, chosen = loan.project, loan.project.settings
    if not (chosen.route.local or chosen.route.frontier):  # nothing to choose from
        usual = "" if chosen.is_routed else chosen.model
        return await _ask_one(loan, replace(request, model=usual))
    heard = False

    def hear(event: Event) -> None:
        nonlocal heard
        heard = heard or isinstance(event, Delta)
        loan.run.emit(event)

    task = Task(kind_of(request.words), request.words, str(project.root), False)
    relay = Relay(loan, loan.run, await look_around(project, loan.run.emit))
    one: Opened | None = await relay.set_out(task, (), loan.session)
    while True:
        assert one is not None
        try:
            return await _call(loan, one, request, hear)
        except (ModelError, NoModelError) as error:
            # What was said cannot be taken back, and a prompt that is too long here is so elsewhere.
            if heard or getattr(error, "overflow", False):
                raise
            one = await relay.follow(GivenUp(one.facts.name, str(error), error))
            if one is None:
                raise


async def _call(loan: _Loan, opened: Opened, request: ChatRequest, emit: Emit | None = None) -> Reply:
    """Ask a model that was admitted."""
    emit = emit or loan.run.emit
    chosen = loan.project.settings
    usual = replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens)
    model, prompt = opened.lent(loan.account, loan.permit), request.prompt(usual)
    if not request.must_call:
        return await model(prompt, emit)
    reply = await model(prompt, _without_words(emit))
    if reply.message.calls or reply.stop == "length":
        return reply
    found = read_choice(reply.message.text, request.tools, cut=False)
    if found is None or not found.calls:
        return reply
    return replace(reply, message=replace(reply.message, parts=found.calls), stop="tools")


def _without_words(emit: Emit) -> Emit:
    """Emit a reply without its text, which is a call."""

    def hear(event: Event) -> None:
        if not isinstance(event, Delta) or event.kind == "thinking":
            emit(event)

    return hear


async def _nobody(question: Question) -> Answer:
    return Answer("no", "nobody can be asked", unasked=True)


# Why a request was not answered, sorted as its protocol has to tell it.

Failure = Literal["consent", "missing", "overflow", "unable", "limit", "passing", "broken"]


def sort_failure(error: KithError) -> Failure:
    """Classify a failure: the person's (consent), the client's (missing to limit), passing, or broken."""
    match error:
        case UnconsentedError():
            return "consent"
        case NoModelError() | MissingModelError() | UsageError():
            return "missing"
        case ModelError(overflow=True):
            return "overflow"
        case UnsupportedError():
            return "unable"
        case LimitError():
            return "limit"
        case BusyError() | ModelError(retryable=True):
            return "passing"
    return "broken"
