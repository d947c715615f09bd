"""The shapes of a model (one callable), a tool (data and a function) and a role (data)."""

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from kith.core.events import Event
from kith.core.policy import Policy
from kith.core.run import Run
from kith.core.values import Bill, CallTarget, Charge, Effect, Fault, Message, Reply, Sampling, ToolResult

Emit = Callable[[Event], None]
_BILL: Final = "bill"  # the attribute of an error that holds what was paid for nothing


class Beforehand(Struct, frozen=True):
    """The outcome of a look at a call before it runs: its arguments, perhaps corrected.

    `refusal` tells the model why the call is not run, and `fault` its cause; `words` are added to its result.
    """

    args: Mapping[str, Any]
    words: str = ""
    refusal: str = ""
    fault: Fault = "denied"


# A tool's work: its arguments, as the schema wants them, to a result.
ToolFn = Callable[[Mapping[str, Any], Run], Awaitable[ToolResult]]


class Tool(Struct, frozen=True):
    """Something a model may do. `effect` and `target(args)` are all that the policy sees.

    `fn` gets checked arguments and the run; it answers mistakes of the model with `ok=False` and words for
    the model. A result whose detail holds `final: True` ends the loop. `beforehand` looks at a call before
    the policy does, which then decides about the arguments that came of it.
    """

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON Schema of the arguments: an object
    effect: Effect
    fn: ToolFn
    target: Callable[[Mapping[str, Any]], CallTarget] = lambda args: CallTarget()
    # Some tools (git) are harmless or not by what they are asked; None means `effect` always holds.
    effect_of: Callable[[Mapping[str, Any]], Effect] | None = None
    beforehand: Callable[[Mapping[str, Any], Run], Awaitable[Beforehand]] | None = None
    # Its calls wait for what goes on elsewhere: the same call with the same answer is no circle.
    waits: bool = False

    def effect_for(self, args: Mapping[str, Any]) -> Effect:
        return self.effect_of(args) if self.effect_of else self.effect


class Prompt(Struct, frozen=True):
    """One request: everything a model gets to see, and what it is for.

    `thread` names the conversation it belongs to. `shape`: a JSON Schema that the reply's text must follow,
    where the server can enforce it. `strategy`: the way in which the model is asked, "" for the original one.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    purpose: str = "chat"  # plan, edit, review, judge, chat ...
    attempt: int = 1
    sampling: Sampling = Sampling()
    thread: str = ""
    shape: Mapping[str, Any] | None = None
    strategy: str = ""


class Model(Protocol):
    """Providers and their wrappers have this one shape. Raises ModelError."""

    @property
    def name(self) -> str: ...

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply: ...


class Wrapped(Struct, frozen=True):
    """The base of models around a model: each has the name of what it wraps, and implements `__call__`."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name


Ask = Callable[[Prompt, Emit], Awaitable[Reply]]  # a model, or a part of one


class Tab:
    """The bill of one request that may take several calls.

    Each reply of `ask` carries all of it so far, and so does whatever error leaves the `with` block.
    """

    def __init__(self) -> None:
        self.bill: Bill = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            setattr(error, _BILL, self.bill)

    def add(self, *charges: Charge) -> None:
        """Put charges on the tab."""
        self.bill += charges

    async def ask(self, model: Ask, prompt: Prompt, emit: Emit) -> Reply:
        """Ask a model; what that takes goes on the tab. Raises what the model raises."""
        try:
            reply = await model(prompt, emit)
        except BaseException as error:
            self.add(*bill_of(error))
            raise
        self.add(*reply.bill)
        return replace(reply, bill=self.bill)


def bill_of(error: BaseException) -> Bill:
    """Return what the calls took that ended in this error; () where nobody metered them."""
    bill: Bill = getattr(error, _BILL, ())
    return bill


class Billed(Wrapped, frozen=True):
    """`model`, with each charge of its calls given to `take`, also where a call fails or is cancelled."""

    take: Callable[[Charge], object]

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the model raises."""
        with Tab() as tab:
            try:
                return await tab.ask(self.model, prompt, emit)
            finally:
                for charge in tab.bill:
                    self.take(charge)


def nothing_open() -> str:
    """Ask nothing: the model may end its work."""
    return ""


class Role(Struct, frozen=True):
    """An agent is data: who it is, what answers for it, what it may use and do.

    `ask_back` is called when the model ends its work in words; a question that it returns is put to it.
    """

    name: str
    system: str
    model: Model
    tools: tuple[Tool, ...]
    policy: Policy
    purpose: str = "chat"
    sampling: Sampling = Sampling()
    ask_back: Callable[[], str] = nothing_open
