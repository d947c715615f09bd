"""What a model is (one callable), what a tool is (data and a function), and what a role is (data)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kith.core.events import Event
from kith.core.policy import Policy
from kith.core.values import CallTarget, Effect, Fault, Message, Reply, Sampling, ToolResult

if TYPE_CHECKING:
    from kith.core.run import Run

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Beforehand:
    """What came of a look at a call before anything else: its arguments, perhaps others than were sent.

    `refusal` says to the model why it is not run, and `fault` whose fault that is; `words` are added to its
    result.
    """

    args: Mapping[str, Any]
    words: str = ""
    refusal: str = ""
    fault: Fault = "denied"


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may do. `effect` and `target(args)` are all that the policy sees.

    `fn` gets checked arguments and the run; it answers mistakes of the model with `ok=False` and words for
    the model. A result whose detail holds `final: True` ends the loop. `beforehand` looks at a call before
    the policy does, which then decides about the arguments that came of it.
    """

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON Schema of the arguments: an object
    effect: Effect
    fn: "Callable[[Mapping[str, Any], Run], Awaitable[ToolResult]]"
    target: Callable[[Mapping[str, Any]], CallTarget] = lambda args: CallTarget()
    # Some tools (git) are harmless or not by what they are asked; None means `effect` always holds.
    effect_of: Callable[[Mapping[str, Any]], Effect] | None = None
    beforehand: "Callable[[Mapping[str, Any], Run], Awaitable[Beforehand]] | None" = None

    def effect_for(self, args: Mapping[str, Any]) -> Effect:
        return self.effect_of(args) if self.effect_of else self.effect


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: everything a model gets to see, and what it is for.

    `thread` names the conversation it belongs to. `shape`: a JSON Schema that the reply's text must follow,
    where the server can enforce it.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    purpose: str = "chat"  # plan, edit, review, judge, chat ...
    attempt: int = 1
    sampling: Sampling = Sampling()
    thread: str = ""
    shape: Mapping[str, Any] | None = None


class Model(Protocol):
    """Providers and their wrappers have this one shape. Raises ModelError."""

    @property
    def name(self) -> str: ...

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Role:
    """An agent is data: who it is, what answers for it, what it may use and do."""

    name: str
    system: str
    model: Model
    tools: tuple[Tool, ...]
    policy: Policy
    purpose: str = "chat"
    sampling: Sampling = Sampling()
