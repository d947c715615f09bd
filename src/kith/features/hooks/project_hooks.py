"""Hooks: commands of the person's, or of a project they trust, that are told of moments of the work."""

import json
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from msgspec import Struct, field

from kith.agent.project import Project
from kith.core.errors import TreeError
from kith.core.events import Notice
from kith.core.run import Gate, Run, new_id
from kith.core.values import Changes, Ran, Verdict
from kith.core.workspace import ExecLimits, ShellCommand
from kith.settings import Hook
from kith.tools.veiled import Veil, hide
from kith.tools.wrappers import HookAnswer, Moment
from kith.trees.exec import capture
from kith.trees.sandbox import shell

_NO: Final = 2  # the exit code that blocks
_GUARDS: Final = ("start", "before_tool")  # nobody gets past them by keeping them busy
_NO_REASON: Final = "it gave no reason"
_OUTPUT: Final = 1 << 20  # bytes that a hook may print
# What it prints on stderr follows its answer, behind a line that it cannot foresee.
_APART: Final = (
    'errors=$(mktemp) || exit 125; sh -c "$KITH_HOOK" 2>"$errors"; code=$?; '
    'printf "\\n%s\\n" "$KITH_MARK"; cat "$errors"; rm -f "$errors"; exit $code'
)
_KINDS: Final = {"decision": str, "reason": str, "add": str, "args": dict}
# What an answer may hold: at the end there is nothing to add to, and only before a call can that be changed.
_ANSWERS: Final[Mapping[str, Sequence[str]]] = {
    "start": ("decision", "reason", "add"),
    "before_tool": ("decision", "reason", "add", "args"),
    "after_tool": ("decision", "reason", "add"),
    "stop": ("decision", "reason"),
}


class ProjectHooks(Struct, frozen=True):
    """The hooks that count in a project, for one session; in the trial they see nothing behind the veil."""

    project: Project
    session: str
    veil: Veil | None = None
    _told: set[str] = field(default_factory=set)  # what went wrong, said once

    def hears(self, moment: Moment, tool: str = "") -> bool:
        return bool(self._which(moment, tool))

    async def tell(self, run: Run, moment: Moment, told: Mapping[str, Any]) -> HookAnswer:
        """Run the hooks for this one after the other, each told what the one before made of the arguments.

        One that fails in any way but by saying no is a notice, and the work goes on.
        """
        said = HookAnswer()
        for hook in self._which(moment, str(told.get("tool", ""))):
            now = told if said.args is None else {**told, "args": said.args}
            said = said.then(await self._ask(run, hook, now))
            if said.refusal:
                break
        return said

    def gate(self) -> Gate | None:
        """Return a gate that asks hooks if the model may stop; None where no hook listens."""
        if not self.hears("stop"):
            return None
        before = 0

        async def judge(run: Run, changes: Changes) -> Verdict:
            nonlocal before
            said = await self.tell(
                run, "stop", {"changed": [each.path for each in changes], "before": before}
            )
            before += bool(said.refusal)
            return Verdict(not said.refusal, said.no, "hooks")

        return judge

    def _which(self, moment: Moment, tool: str) -> list[Hook]:
        """The hooks of the moment; a project's own run in a sandbox or not at all."""
        return [
            each
            for each in self.project.settings.hooks
            if each.on == moment
            and (not tool or any(fnmatchcase(tool, pattern) for pattern in each.tool))
            and (self.project.tree.confined or not each.brought)
        ]

    async def _ask(self, run: Run, hook: Hook, told: Mapping[str, Any]) -> HookAnswer:
        root, mark = str(self.project.root), new_id()
        about = {"on": hook.on, "session": self.session, "root": root, **told}
        input = json.dumps(about).encode()
        env = {"KITH_HOOK": hook.command, "KITH_MARK": mark, "KITH_ROOT": root}
        limits = ExecLimits(hook.seconds, output=_OUTPUT)
        try:
            if hook.where == "trial":
                place = hide(run.workspace, self.veil) if self.veil else run.workspace
                ran = await place.exec(ShellCommand(_APART, env=env, input=input), limits)
            else:
                ran = await self._run_here(env, input, limits)
            if ran.timed_out:
                return self._miss(run, hook, f"did not answer within {hook.seconds:g} s")
            return _read(ran, mark, _ANSWERS[hook.on])
        except TreeError as error:
            return self._miss(run, hook, f"could not run: {str(error).rstrip('.')}")
        except ValueError as error:
            self._tell(run, f"The hook in {hook.place} {error}. The work goes on.")
            return HookAnswer()

    def _miss(self, run: Run, hook: Hook, why: str) -> HookAnswer:
        """Handle a hook without an answer: where it could have refused, it counts as a refusal."""
        if hook.on in _GUARDS:
            return HookAnswer(refusal=f"it {why}")
        self._tell(run, f"The hook in {hook.place} {why}. The work goes on.")
        return HookAnswer()

    def _tell(self, run: Run, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            run.emit(Notice(words, "warning"))

    async def _run_here(self, env: Mapping[str, str], input: bytes, limits: ExecLimits) -> Ran:
        """On the machine, with the person's own variables, in the folder of their configuration.

        Not in the project's: a relative name would mean a file that anybody may have put there.
        """
        done = await capture(
            [*shell(), _APART],
            env={**os.environ, **env},
            cwd=self.project.settings.config,
            limits=limits,
            input=input,
            sandboxed=False,
        )
        return done.as_ran(env["KITH_HOOK"], sandboxed=False)


def _read(ran: Ran, mark: str, known: Sequence[str]) -> HookAnswer:
    """Read a finished hook's answer. Raises ValueError with the fault."""
    answer, _, errors = ran.output.partition(f"\n{mark}\n")
    why = errors.strip() or answer.strip()
    if ran.code == _NO:
        return HookAnswer(refusal=why or _NO_REASON)
    if ran.code:
        line = next(iter(why.splitlines()), "it printed nothing")
        raise ValueError(f"failed with exit code {ran.code}: {line[:200].rstrip('.')}")
    return _read_answer(answer.strip(), known)


def _read_answer(text: str, known: Sequence[str]) -> HookAnswer:
    """An answer in JSON with the known keys; any other text is for nobody. Raises ValueError."""
    if not text.startswith("{"):
        return HookAnswer()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"printed no valid JSON: {error}") from error
    for key, value in found.items():
        if key not in known:
            raise ValueError(f"answers with {key!r}, but there are only: {', '.join(known)}")
        if not isinstance(value, _KINDS[key]):
            raise ValueError(f"answers with {key} = {json.dumps(value):.80}, which is of the wrong kind")
    if found.get("decision", "allow") not in ("allow", "block"):
        raise ValueError(f"decides {found['decision']!r}, but there are only: allow, block")
    if found.get("decision") == "block":
        return HookAnswer(refusal=found.get("reason") or _NO_REASON)
    return HookAnswer(args=found.get("args"), words=found.get("add", ""))
