"""The gate of a model: only what the person agreed to passes to a cloud, and no secret to anybody."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.redact import Redactor
from kith.core.errors import EXIT_REJECTED, NoModelError
from kith.core.events import Notice
from kith.core.model import Emit, Prompt, Wrapped
from kith.core.values import Message, Reply, Thinking
from kith.models.providers.facts import Facts, Provider, ignore

Group = Literal["work", "review", "coach", "confer", "measure"]

_GROUPS: Final[dict[str, Group]] = {
    "review": "review",
    "judge": "review",
    "notes": "review",
    "coach": "coach",
    "confer": "confer",
    "probe": "measure",
    "bench": "measure",
}


class RejectedError(NoModelError):
    """The person said no: this model is not there for them, though another one may be."""

    code = EXIT_REJECTED


class Sending(Struct, frozen=True):
    """The content of the first call that leaves this machine: receiver, purpose, size and cost.

    `files` are those whose contents it is known to hold. `usd` is the lowest and the highest cost of this
    call (None: unknown). `asked_as` is the name by which the model was asked for.
    """

    model: str
    server: str
    group: Group
    messages: int
    files: tuple[str, ...]
    tokens: int
    usd: tuple[float, float] | None
    asked_as: str = ""


# Returns where the person agrees; raises KithError where they do not, or nobody could be asked.
Permit = Callable[[Sending], Awaitable[None]]


def group_of(purpose: str) -> Group:
    """Return the group of purposes that one consent covers."""
    return _GROUPS.get(purpose.partition(" ")[0], "work")


class Gate:
    """The filter of one opened model, for prompts as they are wrapped and as they are sent.

    A model in the `cloud` gets only what the person agreed to, by groups of purposes. No model gets a secret:
    text that looks like a key is removed, and so are the values that `keep_back` names. A cloud's own signed
    parts go back unchanged.
    """

    def __init__(self, model: str, *, cloud: bool) -> None:
        self.model, self.cloud = model, cloud
        self._granted: set[Group] = set()
        self._redactor = Redactor()
        self._told = False

    def keep_back(self, values: Iterable[str], *, forms: bool = True) -> None:
        """Let none of these values pass, wherever it is, nor (with `forms`) text that looks like a key."""
        self._redactor = Redactor(values, self.model if self.cloud else None, forms=forms)

    def grant(self, group: Group) -> None:
        """Let calls of this group pass from now on."""
        self._granted.add(group)

    def check(self, purpose: str) -> None:
        """Raise NoModelError where nobody agreed that the model gets calls of this purpose."""
        if self.cloud and group_of(purpose) not in self._granted:
            raise NoModelError(f"{self.model} is in the cloud, and you have not agreed to this use.")

    def redact(self, prompt: Prompt) -> tuple[Prompt, str]:
        """The prompt without secrets, and a sentence about these: once, and of a cloud only."""
        prompt, found = self._redactor.redact(prompt)
        if not found or not self.cloud or self._told:
            return prompt, ""
        self._told = True
        what = "One secret was" if found == 1 else f"{found:,} secrets were"
        return prompt, f"{what} removed from prompts to {self.model}."


class Consented(Wrapped, frozen=True, eq=False):
    """`model`, asked for each group of purposes only after `permit` let its first call pass.

    `describe` says what a call would send. What was agreed to is noted at the `gate`, which opens by that.
    """

    permit: Permit
    describe: Callable[[Prompt, Group], Sending]
    gate: Gate
    _asked: set[str] = field(default_factory=set)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask the person if need be, then the model. Raises what `permit` raises."""
        group = group_of(prompt.purpose)
        if group not in self._asked:
            await self.permit(self.describe(prompt, group))
            self._asked.add(group)
            self.gate.grant(group)
        return await self.model(prompt, emit)


class Guarded(Struct, frozen=True):
    """`provider`, behind its gate: the last step before the network, for every prompt.

    Every prompt is sent as the log holds it, so that it does not change when another process resumes the
    session. Nothing is counted or warmed up in a cloud: both would send the prompt too.

    Unless it `remembers`, a model is not shown its former thoughts. A template that strips thinking after the
    next message would make the server read all that follows again.
    """

    provider: Provider
    gate: Gate
    remembers: bool = True

    @property
    def name(self) -> str:
        return self.provider.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises NoModelError where nobody agreed, and what the provider raises."""
        self.gate.check(prompt.purpose)
        shown, words = self._show(prompt)
        if words:
            emit(Notice(words, "warning"))
        return await self.provider(shown, emit)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Return the provider's facts; no prompt is sent."""
        return await self.provider.facts(emit)

    async def count(self, prompt: Prompt) -> int | None:
        """As the provider counts what it would be sent; None where nobody can say, or may be asked."""
        return None if self.gate.cloud else await self.provider.count(self._show(prompt)[0])

    async def warm(self, prompt: Prompt) -> None:
        """Have the provider read what it will be sent; nothing is sent to a cloud ahead of time."""
        if not self.gate.cloud:
            await self.provider.warm(self._show(prompt)[0])

    async def close(self) -> None:
        """Let go of connections."""
        await self.provider.close()

    def _show(self, prompt: Prompt) -> tuple[Prompt, str]:
        return self.gate.redact(prompt if self.remembers else _without_thoughts(prompt))


def _without_thoughts(prompt: Prompt) -> Prompt:
    return replace(prompt, messages=tuple(map(_spoken, prompt.messages)))


def _spoken(message: Message) -> Message:
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return message if parts == message.parts else replace(message, parts=parts)
