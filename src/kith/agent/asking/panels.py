"""A role that several models play together: what the kernel asks of whoever lets them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from kith.agent.asking.terms import Terms
from kith.agent.roles import Player, RoleSpec
from kith.models.stack import Opened
from kith.settings.features import need_part


class Panels(Protocol):
    """The panels of one session."""

    def members(self, spec: RoleSpec) -> tuple[str, ...]:
        """The models that play a role whose spec names a panel: one, where several are known not to pay."""

    def seat(self, seats: Sequence[tuple[Opened, Player]]) -> Player:
        """The role, played by all of them: the first reads and opens, and one reply comes out."""


def open_panels(terms: Terms, role: str) -> Panels:
    """The panels of a session in which `role` names one. Raises UsageError."""
    make: Callable[[Terms], Panels] = need_part(
        lambda feature: feature.panels, f"The role {role}, which names a panel,"
    )
    return make(terms)
