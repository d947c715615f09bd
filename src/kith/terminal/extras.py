"""What some commands need beside kith's own packages, and how a person gets it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from kith.core.errors import UsageError

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "web": ("fastapi", "nh3", "prometheus_client", "uvicorn"),
    "acp": ("acp",),
    "mcp": ("mcp",),
}


def check_extra(extra: str, command: str) -> None:
    """Raises UsageError where the packages that a command needs are not installed."""
    if any(find_spec(name) is None for name in _MODULES[extra]):
        raise UsageError(
            f"{command} needs more: pip install 'kith-agent[{extra}]', "
            f"or in a checkout of kith: python3 -m uv tool install '.[{extra}]'"
        )
