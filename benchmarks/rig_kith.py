"""kith for a rig that measures coding agents against a scripted server: `RIG_EXTRA=benchmarks/rig_kith.py`.

The rig starts each agent on the same small tasks and counts what it sends. This file tells it how kith is
started and how its tools are called; docs/benchmarks.md says how to run it.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any, ClassVar

from adapters import Adapter, Call, _shell_only  # type: ignore[import-not-found]
from agents import Agent, base_url  # type: ignore[import-not-found]

KITH = os.environ.get("RIG_KITH") or shutil.which("kith") or str(Path(sys.executable).with_name("kith"))


class Kith(Adapter):  # type: ignore[misc]
    """kith's own tools: each intent of the script as the tool that a model would use for it."""

    name = "kith"
    OPS: ClassVar[dict[str, Any]] = {
        **_shell_only("bash", "command"),
        "list": lambda op, adapter, request: Call("read", {"paths": [op["path"]]}),
        "read": lambda op, adapter, request: Call("read", {"paths": [op["path"]]}),
        "grep": lambda op, adapter, request: Call("search", {"pattern": op["pattern"]}),
        "edits": lambda op, adapter, request: [
            Call("edit", {"path": edit["path"], "old": edit["old"], "new": edit["new"]})
            for edit in op["edits"]
        ],
    }

    def is_side(self, request: Any) -> bool:
        return False


def environment(port: int) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{base_url(port)}/v1"}


AGENTS = [
    Agent(
        "kith",
        KITH,
        lambda prompt, task: [KITH, "run", "--yes", "--check", "none", "-m", "openai/scripted", prompt],
        env=environment,
        adapter="kith",
        install=str(Path(KITH).parent.parent),
    )
]
ADAPTERS = [Kith]
