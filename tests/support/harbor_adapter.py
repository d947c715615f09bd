"""Drives the agent for Harbor, in a Python that has Harbor, against an environment that only records.

`python harbor_adapter.py SOURCE LOGS MODEL OPTIONS` prints what the agent did as JSON. LOGS holds events.
"""

import asyncio
import json
import sys
from pathlib import Path, PurePosixPath
from typing import Any


class Recording:
    """An environment without a container: it notes commands and files, and every command succeeds."""

    default_user = None

    def __init__(self, result: Any, code: int) -> None:
        self._result, self._code = result, code
        self.commands: list[dict[str, Any]] = []
        self.files: dict[str, str] = {}

    async def exec(self, command: str, env: dict[str, str] | None = None, **more: Any) -> Any:
        self.commands.append({"command": command, "env": env or {}})
        code = self._code if "kith run" in command else 0
        return self._result(stdout="", stderr="", return_code=code)

    async def upload_file(self, source: Path, target: str) -> None:
        self.files[target] = Path(source).read_text(errors="replace")


async def drive(logs: Path, model: str, options: dict[str, Any]) -> dict[str, Any]:
    """Install, run, and fill the context, as Harbor does in this order."""
    from harbor.environments.base import ExecResult
    from harbor.models.agent.context import AgentContext
    from harbor.utils.import_path import import_class

    code = options.pop("exit_code", 0)
    environment, context = Recording(ExecResult, code), AgentContext()
    env = {"OPENAI_API_KEY": "sk-of-the-server", "ANTHROPIC_API_KEY": "sk-of-anthropic"}
    agent = import_class("kith_harbor:KithAgent", label="agent")(
        logs_dir=logs,
        model_name=model,
        extra_env=env,
        environment_logs_dir=PurePosixPath("/logs/agent"),
        **options,
    )
    told: dict[str, Any] = {"name": agent.name(), "version": agent.parse_version("kith 0.1.0\n")}
    try:
        await agent.install(environment)
        await agent.run("Set `it` up, don't ask.", environment, context)
    except (RuntimeError, ValueError) as error:
        told["error"] = f"{type(error).__name__}: {error}"
    agent.populate_context_post_run(context)
    live = agent.convert_trajectory(logs)
    told["live_steps"] = len(live.steps) if live else 0
    return {
        **told,
        "commands": environment.commands,
        "files": environment.files,
        "context": context.model_dump(),
    }


if __name__ == "__main__":
    source, logs, model, options = sys.argv[1:]
    sys.path.insert(0, source)
    print("\n" + json.dumps(asyncio.run(drive(Path(logs), model, json.loads(options)))))
