"""The roles that others may ask a model to play: those of kith, and the person's own; never a project's."""

from dataclasses import replace

from kith.agent.asking.roles import find_role, role_names
from kith.agent.roles import RoleSpec, is_small, make_words
from kith.features.gateway.answering.request import ChatRequest
from kith.settings import Brought, Settings


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
