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
    tests = [name.strip() for name in args.get("tests", ()) if isinstance(name, str) and name.strip()]
    line = clip(summary.split("\n", 1)[0], 100)
    # The model has just written the summary: it is kept for people, and not sent back.
    return told("Ended.", line, final=True, summary=summary, **({"tests": tests} if tests else {}))


DONE = Tool(
    "done",
    "End the task.",
    {
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "tests": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["summary"],
    },
    "read",
    _end,
)
