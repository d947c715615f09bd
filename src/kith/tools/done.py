"""The tool that ends a task: its summary is what the model says, never what counts."""

from collections.abc import Mapping
from typing import Any

from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.answers import told
from kith.tools.lines import clip


async def _end(args: Mapping[str, Any], run: Run) -> ToolResult:
    summary = args["summary"].strip() or "Done."
    return told(summary, clip(summary.split("\n", 1)[0], 100), final=True)


DONE = Tool(
    "done",
    "End the task.",
    {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    "read",
    _end,
)
