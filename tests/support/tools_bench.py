"""A real tree with real processes, and the way the loop would use a tool on it."""

import asyncio
import json
import os
import subprocess
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kith.core.events import Event
from kith.core.loop import check_args
from kith.core.model import Tool
from kith.core.run import Limits, Run
from kith.core.values import Answer, CallTarget, Question, Ran, ToolResult
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.trees.exec import run_process
from kith.trees.local import LocalTree


@dataclass
class Bench:
    """A tree in `folder` whose commands find the programs on `path`; `events` is what its run told."""

    folder: Path
    state: Path
    path: str = os.environ.get("PATH", "")
    limits: Limits = Limits()
    events: list[Event] = field(default_factory=list)

    def use(self, tool: Tool, **args: Any) -> ToolResult:
        """The tool's answer, to arguments that were checked as the loop checks them."""
        checked, fault = check_args(args, tool.schema)
        assert not fault, fault
        assert isinstance(tool.target(checked), CallTarget)
        result = asyncio.run(tool.fn(checked, self.run))
        line = result.detail["line"]
        assert line and "\n" not in line
        json.dumps({key: value for key, value in result.detail.items() if key != "ran"})
        return result

    def write(self, path: str, content: str | bytes) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def use_git(self, *args: str) -> str:
        """What a person's own git says in the tree."""
        done = subprocess.run(["git", *args], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    @property
    def run(self) -> Run:
        tree = LocalTree(self.folder, self.state, runner=self._execute, trials=_no_trials, confined=False)
        return Run(lambda event, path: self.events.append(event), _nobody, tree, self.limits)

    async def _execute(self, root: Path, command: ShellCommand, limits: ExecLimits) -> Ran:
        return await run_process(
            ["/bin/sh", "-c", command.line],
            command=command.line,
            env={"PATH": self.path, "HOME": str(self.state), **command.env},
            cwd=root / command.folder,
            limits=limits,
            sandboxed=False,
        )


def _no_trials(tree: LocalTree, name: str) -> AbstractAsyncContextManager[Trial]:
    raise NotImplementedError


async def _nobody(question: Question) -> Answer:
    raise NotImplementedError
