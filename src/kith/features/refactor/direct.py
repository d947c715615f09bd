"""Refactorings by syntax tree among the edits that need no model."""

from collections.abc import Mapping
from typing import Any, Final

from kith.agent.direct import Edit, MoreEdits
from kith.core.run import Run
from kith.core.values import Changes
from kith.features.refactor.make import make_refactoring, rename_by_scope
from kith.features.refactor.wanted import FORMS, read_wanted

_TEXT: Final = {"type": "string"}


async def _refactor(args: Mapping[str, Any], run: Run) -> Changes:
    words = [args["action"], args["target"], *([args["to"]] if args.get("to") else [])]
    return (await make_refactoring(run, read_wanted(words))).changes


EDITS: Final = MoreEdits(
    {
        "refactor": Edit(
            "{action} {target} {to}",
            f"Refactor by syntax tree: {'; '.join(FORMS.values())}. `target` comes first, then `to`.",
            {
                "type": "object",
                "properties": {"action": {**_TEXT, "enum": list(FORMS)}, "target": _TEXT, "to": _TEXT},
                "required": ["action", "target"],
            },
            _refactor,
        )
    },
    rename_by_scope,
)
