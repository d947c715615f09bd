"""JavaScript's toolchain: the test script of package.json, by the manager whose lock file is there."""

import json
import re
from collections.abc import Collection
from typing import Final

from kith.gates.toolchains.toolchain import Read, Runner, Toolchain

NODE_CLUES: Final = ("package.json",)
_MANAGERS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun run",
    "bun.lockb": "bun run",
}


def find_node(files: Collection[str], read: Read) -> Toolchain | None:
    """A test script that is more than what `npm init` writes where there are no tests."""
    if "package.json" not in files:
        return None
    script = _test_script((read("package.json") or b"").decode("utf-8", "replace"))
    if not script.strip() or "no test specified" in script:
        return None
    manager = next((name for lock, name in _MANAGERS.items() if lock in files), "npm")
    language = "TypeScript" if "tsconfig.json" in files else "JavaScript"
    why = "package.json has a test script"
    return Toolchain(f"{manager} test", language, why, f"{manager} test", _runner(script, manager))


def _test_script(text: str) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return ""
    scripts = data.get("scripts") if isinstance(data, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return script if isinstance(script, str) else ""


def _runner(script: str, manager: str) -> Runner:
    """Only npm hands options on in a way that all its versions share, and only to the last command."""
    if manager != "npm":
        return "command"
    if re.match(r"node\s+--test\b[^&|;]*$", script):
        return "node"
    return "jest" if re.match(r"jest\b[^&|;]*$", script) else "command"
