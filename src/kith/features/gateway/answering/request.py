"""What another program asks of a model, and the roles that it may name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kith.agent.asking.roles import find_role, role_names
from kith.agent.roles import RoleSpec, is_small, make_words
from kith.core.model import Prompt, Tool
from kith.core.run import Run
from kith.core.values import Message, Sampling, ToolResult
from kith.models.dialects.read import shape_of
from kith.settings import Brought, Settings

PURPOSE: Final = "endpoint"


@dataclass(frozen=True, slots=True)
class ChatRequest:
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
        """What was said last by whoever asks."""
        said = (message.text for message in reversed(self.messages) if message.role == "user")
        return next(said, "")

    def prompt(self, defaults: Sampling) -> Prompt:
        """The request as models get it; `defaults` holds where it says nothing."""
        names = Sampling.__dataclass_fields__
        given = {name: getattr(self.sampling, name) for name in names}
        usual = {name: getattr(defaults, name) for name in names}
        sampling = Sampling(
            **{name: usual[name] if given[name] in (None, ()) else given[name] for name in names}
        )
        shape = call_shape(self.tools) if self.must_call else self.shape
        return Prompt(self.system, self.messages, self.tools, self.purpose, sampling=sampling, shape=shape)


def call_shape(tools: Sequence[Tool]) -> Mapping[str, Any]:
    """The JSON Schema of one call of one of the tools; of nothing else, not even words."""
    return {"oneOf": shape_of(tools)["oneOf"][: len(tools)]}


def foreign_tool(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
    """A tool of whoever asks: its calls are handed over, and nothing here ever runs it."""
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
