"""A model whose tool calls land: as its server reads them, as JSON by a schema, or as plain text."""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.events import Carded, Notice
from kith.core.model import Emit, Prompt, Tab, Wrapped
from kith.core.values import Part, Reply, Text, Thinking, ToolCall
from kith.models.dialects.marks import CallFilter
from kith.models.dialects.own_dialect import as_spoken, describe_tools
from kith.models.dialects.read import fit_call, read_calls, read_choice, shape_of
from kith.models.providers.faults import GarbledReplyError, UnsupportedError

Rung = Literal["native", "constrained", "text"]

FAULTS = 3  # replies in a row whose calls cannot be read, before a rung counts as too high
GARBLED = 2  # the same, where the server itself gave up
_ANOTHER = "; another model may do better, see `kith models`"
_BELOW: Final[Mapping[Rung, Rung]] = {"native": "constrained", "constrained": "text"}
_FROM_NOW_ON: Final[Mapping[Rung, str]] = {
    "native": "",
    "constrained": "each of its replies is one call, as JSON",
    "text": "tools and calls are plain text; its prompt is processed again once",
}


class _LadderState(Struct):
    """A model's rung on the ladder, the rung on its card, and recent faults."""

    rung: Rung = "native"
    carded: object = None
    faults: int = 0
    garbled: int = 0
    leaks: int = 0


class Ladder(Wrapped, frozen=True, eq=False):
    """`model`, on the best rung that works for it: calls it can make, in a form that kith can read.

    - native: the server reads the calls; those that it leaves in the text are found there.
    - constrained: the same prompt, and a schema that leaves only calls.
    - text: no tools for the server; the system prompt describes them, and calls and results are words.

    It begins on `rung`, else on that of the model's `card`, else at the top, and only goes down. It does
    when the server refuses tools or schema, or when calls cannot be read several times in a row. Until
    then the model is told of each fault, as its call's answer. The rung that works is emitted as Carded
    for the weights `digest`.
    """

    card: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    rung: Rung | None = None
    _standing: _LadderState = field(default_factory=_LadderState)

    def __post_init__(self) -> None:
        carded = self.card.get("rung")
        known: tuple[Rung, ...] = tuple(rung for rung in get_args(Rung) if rung == carded)
        self._standing.rung, self._standing.carded = self.rung or (*known, "native")[0], carded

    @property
    def standing(self) -> Rung:
        """The rung of the next call."""
        return self._standing.rung

    @property
    def leaks(self) -> int:
        """Count the replies whose calls the server should have read and left in the text."""
        return self._standing.leaks

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, lower where it must be. Raises ModelError when not even the lowest rung works."""
        free = bool(prompt.tools) and prompt.shape is None
        with Tab() as tab:
            while True:
                rung = self._standing.rung
                veil = CallFilter(emit, closed=free and rung == "constrained") if free else None
                try:
                    reply = await tab.ask(self.model, ask_on(rung, prompt), veil.hear if veil else emit)
                except ModelError as error:
                    if not self._give_way(error, rung, prompt, emit):
                        raise
                    continue
                if veil is None:
                    return reply
                heard = hear_on(rung, prompt, reply)
                veil.end(heard.message.text)
                self._standing.leaks += bool(
                    rung == "native" and heard.message.calls and not reply.message.calls
                )
                self._learn(rung, prompt, heard, emit)
                return heard

    def _give_way(self, error: ModelError, rung: Rung, prompt: Prompt, emit: Emit) -> bool:
        """True if the call should be repeated after a refusal, on a lower rung if needed.

        Raises ModelError at the end of the ladder.
        """
        if rung == "text" and isinstance(error, GarbledReplyError):
            raise ModelError(f"{error}; plain text fails, too{_ANOTHER}", retryable=True) from error
        if rung == "text" or not prompt.tools:
            return False
        if isinstance(error, GarbledReplyError):
            self._standing.garbled += 1
            if self._standing.garbled >= GARBLED:
                self._step_down(rung, _BELOW[rung], "writes tool calls that its server cannot read", emit)
            return True
        if not isinstance(error, UnsupportedError):
            return False
        # A schema that nobody asked for is the one a server makes of the tools.
        if error.what == "tools" or (error.what == "shape" and prompt.shape is None):
            why = "takes no tools" if error.what == "tools" else "cannot be held to a schema"
            self._step_down(rung, "text", why, emit)
            return True
        return False

    def _learn(self, rung: Rung, prompt: Prompt, reply: Reply, emit: Emit) -> None:
        """Draw the conclusion from a whole reply's calls. Raises ModelError at the end of the ladder."""
        calls, standing = reply.message.calls, self._standing
        if not calls or reply.stop == "length" or standing.rung != rung:
            return
        names = {tool.name for tool in prompt.tools}
        if all(call.name in names and not call.fault for call in calls):
            standing.faults = standing.garbled = 0
            self._remember(rung, emit)
            return
        standing.faults += 1
        if standing.faults < FAULTS:
            return
        if rung == "text":
            standing.faults = 0
            raise ModelError(
                f"{self.name} wrote {FAULTS} tool calls in a row that cannot be read, in plain text too"
                f"{_ANOTHER}"
            )
        self._step_down(rung, _BELOW[rung], "writes tool calls that cannot be read", emit)

    def _step_down(self, rung: Rung, lower: Rung, why: str, emit: Emit) -> None:
        standing = self._standing
        if standing.rung != rung:  # another thread's call was faster
            return
        standing.rung, standing.faults, standing.garbled = lower, 0, 0
        emit(Notice(f"{self.name} {why}: from now on {_FROM_NOW_ON[lower]}."))
        self._remember(lower, emit)

    def _remember(self, rung: Rung, emit: Emit) -> None:
        if self.digest and self._standing.carded != rung:
            self._standing.carded = rung
            emit(Carded(self.digest, self.name, {"rung": rung}))


def ask_on(rung: Rung, prompt: Prompt) -> Prompt:
    """The prompt as a rung has it. What is said of one thread only grows, as the thread does."""
    if rung == "text":
        tools = describe_tools(prompt.tools) if prompt.tools else ""
        system = "\n\n".join(filter(None, (prompt.system.rstrip(), tools)))
        return replace(prompt, system=system, messages=as_spoken(prompt.messages), tools=())
    if rung == "constrained" and prompt.tools and prompt.shape is None:
        return replace(prompt, shape=shape_of(prompt.tools))
    return prompt


def _texts_read(prompt: Prompt) -> tuple[str, ...]:
    """Texts that a model read and did not write: results of tools, and requests with parts of files."""
    read = [result.text for message in prompt.messages for result in message.results]
    return (*read, *(message.text for message in prompt.messages if message.role == "user"))


def hear_on(rung: Rung, prompt: Prompt, reply: Reply) -> Reply:
    """The reply with every call as a call, in its tool's own terms, and without call syntax in its words."""
    said, cut = reply.message, reply.stop == "length"
    heard = read_choice(said.text, prompt.tools, cut) if rung == "constrained" and not said.calls else None
    heard = heard or read_calls(said.text, prompt.tools, cut, _texts_read(prompt))
    # A reply that was cut is not run, so its calls stay as they are.
    fitted = {call.id: call if cut else fit_call(call, prompt.tools) for call in said.calls}
    calls = tuple(fitted.values()) or heard.calls
    if heard.words == said.text and not calls:
        return reply
    if heard.words == said.text and said.calls:  # signed thoughts stay between what they stood between
        parts = tuple(fitted[part.id] if isinstance(part, ToolCall) else part for part in said.parts)
    else:
        thoughts: tuple[Part, ...] = tuple(part for part in said.parts if isinstance(part, Thinking))
        words = (Text(heard.words),) if heard.words else ()
        parts = (*thoughts, *words, *calls)
    stop = reply.stop if cut or not calls else "tools"
    return replace(reply, message=replace(said, parts=parts), stop=stop)
