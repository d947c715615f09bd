"""kith as an agent of Harbor, the framework of terminal-bench 2."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kith_harbor.agent import KithAgent

__all__ = ["KithAgent"]


def __getattr__(name: str) -> Any:
    """Load the agent, and with it Harbor, when it is asked for; trajectories need neither."""
    if name != "KithAgent":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kith_harbor.agent import KithAgent

    return KithAgent
