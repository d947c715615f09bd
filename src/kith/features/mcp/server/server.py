"""The server: which tools there are, what they promise, and how a mistake is told."""

import sys
import traceback
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.request_state import RequestStateSecurity
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from kith import __version__
from kith.core.errors import KithError
from kith.features.mcp.server.results import slim
from kith.features.mcp.server.tools import Offered

INSTRUCTIONS: Final = (
    "Try a change with `trial` before you propose it with `apply`; a person decides, which can take minutes. "
    "`run` gives a whole task to kith's own model."
)
_LOOKS: Final = {"read_only_hint": True, "open_world_hint": False}
_PROPOSES: Final = {"read_only_hint": False, "destructive_hint": True, "open_world_hint": False}
# What a tool may do at worst. A trial writes nothing but its own copy, and what it runs sees no more.
_TOOLS: Final[dict[str, dict[str, bool]]] = {
    "trial": _LOOKS,
    "apply": _PROPOSES,
    "undo": _PROPOSES,
    "review": _LOOKS,
    "scan": _LOOKS,
    "run": _PROPOSES | {"open_world_hint": True},
    "sessions": _LOOKS,
}


class _Told(Tool):
    """A tool whose mistakes are told in a sentence, without the frame of a library around it."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        known = self.parameters.get("properties", {})
        if strange := [name for name in arguments if name not in known]:  # the library leaves them out
            return _refusal(f"{self.name} takes no {strange[0]!r}; it takes: {', '.join(known)}.")
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            return _refusal(_sentence(error))


def _refusal(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _sentence(error: ToolError) -> str:
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'arguments'}: {first['msg']}."
    if isinstance(cause, KithError):
        return str(cause)
    traceback.print_exception(cause or error, file=sys.stderr)
    return f"A bug in kith: {cause!r}"


def make_server(offered: Offered, patience_s: float) -> MCPServer[Any]:
    """The server with its tools. `patience_s`: how long a form may be open."""
    return MCPServer(
        "kith",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=[_tool(offered, name, hints) for name, hints in _TOOLS.items()],
        log_level="ERROR",
        subscriptions=False,
        # A form that was answered in time has to be heard.
        request_state_security=RequestStateSecurity.ephemeral(ttl=2 * patience_s + 60),
    )


def _tool(offered: Offered, name: str, hints: dict[str, bool]) -> Tool:
    made = _Told.from_function(getattr(offered, name), annotations=ToolAnnotations.model_validate(hints))
    assert isinstance(made, Tool)
    made.parameters = slim(made.parameters)
    made.fn_metadata.output_schema = slim(made.fn_metadata.output_schema)
    return made
