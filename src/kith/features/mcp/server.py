"""kith as a server of tools: what each tool does and promises, and how a mistake is told."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.request_state import RequestStateSecurity
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from msgspec import Struct
from pydantic import Field, ValidationError

from kith import __version__
from kith.agent.asking.hidden import keep_secrets
from kith.agent.project import Project, Result
from kith.agent.steering import nobody_here
from kith.core.errors import KithError, UsageError
from kith.core.run import new_id
from kith.core.values import Answer
from kith.features.mcp.proposals import TrialResult, propose_given, propose_undo, read_given, try_given
from kith.features.mcp.server_calls import Attendant, Call
from kith.features.review.changed_files import ReviewRequest
from kith.features.review.command import as_json
from kith.features.review.review import FinishedReview, run_review
from kith.features.scan.checks import Patience
from kith.features.scan.document import text_of
from kith.features.scan.scan import run_scan
from kith.memory.inbox import Inbox, Letter
from kith.memory.receipt import describe_run
from kith.terminal.report import waiting_line
from kith.view.lines import count
from kith.view.wording import question_text

# What the tools answer, as values from which their schemas are made.


@dataclass(frozen=True)
class Trial:
    """`diff` is all that differed from the user's files after the check; nothing was applied."""

    ok: bool
    command: str
    exit_code: int
    output: str
    diff: str
    seconds: float
    session: str


@dataclass(frozen=True)
class Applied:
    """`change` is the id that undo takes; "" when nothing was applied, and `text` says why."""

    applied: bool
    change: str
    text: str
    feedback: str
    files: list[str]
    session: str


@dataclass(frozen=True)
class Task:
    """`status` "waiting": a person has to answer first, see `text`."""

    status: str
    text: str
    diff: str
    checks: list[str]
    not_checked: list[str]
    model: str
    tokens: int
    seconds: float
    session: str


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    severity: str
    rule: str
    text: str
    diff: str


@dataclass(frozen=True)
class Review:
    reviewed: str
    findings: list[Finding]
    text: str


@dataclass(frozen=True)
class Scan:
    summary: str
    languages: list[str]
    tests: list[str]


@dataclass(frozen=True)
class Session:
    id: str
    task: str
    status: str
    at: str


@dataclass(frozen=True)
class Sessions:
    sessions: list[Session]


def slim(schema: Any) -> Any:
    """A schema without what every client can do without: titles, and words that a class was given."""
    if isinstance(schema, list):
        return [slim(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    return {
        key: {name: slim(each) for name, each in value.items()} if key in named else slim(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


# kith as a server of tools: what each tool does and promises, and how a mistake is told.


# The tools: each is what a command of kith does, for an agent that asks for it.

T = TypeVar("T")
R = TypeVar("R")

_CHANGE = "Unified diff, SEARCH/REPLACE blocks under a file name, or whole files: name, then fenced content."
Change = Annotated[str, Field(description=_CHANGE, max_length=2_000_000)]
Ctx = Context[Any, Any]
HOW = "A person approves in the page of `kith serve`, or with `kith client answer`."
_MOST = 50  # findings, sessions


class Offered(Struct):
    """The tools that kith offers for one project."""

    project: Project
    attendant: Attendant

    async def trial(
        self,
        ctx: Ctx,
        change: Change,
        check: Annotated[str, Field(description="Shell command; empty: the project's own tests.")] = "",
    ) -> Trial | InputRequiredResult:
        """Try a change in a throw-away copy of the project and run a command there, in a sandbox."""

        async def begin(session: str) -> tuple[Result, TrialResult]:
            changes = await read_given(self.project, change)
            return await try_given(self.project, changes, check, nobody_here, id=session)

        return await self._in_session(ctx, begin, self._trial)

    async def apply(
        self,
        ctx: Ctx,
        change: Change,
        why: Annotated[str, Field(description="For the person.", max_length=2_000)] = "",
    ) -> Applied | InputRequiredResult:
        """Propose a change: the project's checks run, a person sees the diff and decides."""

        async def begin(session: str) -> Result:
            changes = await read_given(self.project, change)
            return await propose_given(self.project, changes, why, nobody_here, id=session)

        return await self._in_session(ctx, begin, self._applied)

    async def undo(
        self,
        ctx: Ctx,
        id: Annotated[str, Field(description="Change or session; empty: the last.", max_length=64)] = "",
    ) -> Applied | InputRequiredResult:
        """Propose to take an applied change back; a person decides."""

        async def begin(session: str) -> Result:
            return await propose_undo(self.project, id, nobody_here, id=session)

        return await self._in_session(ctx, begin, self._applied)

    async def review(
        self,
        ctx: Ctx,
        revision: Annotated[str, Field(description="Commit or range; empty: what is not committed.")] = "",
        change: Annotated[str, Field(description="Or a unified diff.", max_length=2_000_000)] = "",
        model: Annotated[bool, Field(description="Also ask kith's model: slow.")] = False,
    ) -> Review | InputRequiredResult:
        """Find what is wrong with a change, by linters, type checkers and kith's rules."""
        if revision and change:
            raise UsageError("Give a revision or a change, not both.")
        wish = ReviewRequest(revision=revision, patch=change or None, patch_name="the change")

        async def begin(session: str) -> FinishedReview:
            return await run_review(self.project, wish, nobody_here, model=model, id=session)

        return await self._in_session(ctx, begin, self._review)

    async def scan(
        self, ctx: Ctx, path: Annotated[str, Field(description="Folder or file; empty: all.")] = ""
    ) -> Scan:
        """Say what the codebase is: languages, entry points, tests, layout, complexity, hot spots."""
        where = str(self.project.root / path) if path else ""
        found = await run_scan(self.project, where, Patience(lint=False), lambda event: None)
        report = found.report
        told = Scan(
            "\n".join(text_of(report)),
            [each.name for each in report.languages],
            [each.test for each in report.toolchains if each.test],
        )
        return await keep_secrets(self.project, told)

    async def run(
        self,
        ctx: Ctx,
        task: Annotated[str, Field(min_length=1, max_length=100_000)],
        plan: Annotated[bool, Field(description="Plan first.")] = False,
    ) -> Task | InputRequiredResult:
        """Let kith do a whole task with its own model: edit, test, propose; a person decides on the diff."""
        call = self.attendant.resume(ctx)
        if call is None:
            desk = self.attendant.desk
            planned: Literal["yes", "no"] = "yes" if plan else "no"
            session = desk.begin(self.project, Letter(task, _client(ctx), plan=planned, flags=desk.flags))
            call = Call(session, desk.watch(session))
        if wanted := await self.attendant.attend(call, ctx):
            return wanted
        return await keep_secrets(self.project, self._task(call))

    async def sessions(self, ctx: Ctx, limit: Annotated[int, Field(ge=1, le=_MOST)] = 10) -> Sessions:
        """List what was done here, newest first, and what waits for a person."""
        there = [
            Session(
                each.id,
                each.task[:200],
                "waiting" if self.attendant.desk.question(each.id) else each.status,
                datetime.fromtimestamp(each.at).isoformat(timespec="seconds"),
            )
            for each in self.project.log.sessions(self.project.root, limit)
        ]
        return await keep_secrets(self.project, Sessions(there))

    # --- one call ------------------------------------------------------------------------------

    async def _in_session(
        self, ctx: Ctx, begin: Callable[[str], Awaitable[T]], tell: Callable[[T, Call], R]
    ) -> R | InputRequiredResult:
        """The work of a call in a session of its own, or what is left of it after a form; then what came."""
        call = self.attendant.resume(ctx)
        if call is None:
            session = new_id()
            task = asyncio.ensure_future(begin(session))
            call = Call(session, self.attendant.desk.watch(session), task)
        wanted = await self.attendant.attend(call, ctx)
        if wanted is not None:
            return wanted
        assert call.task is not None
        return await keep_secrets(self.project, tell(call.task.result(), call))

    def _trial(self, done: tuple[Result, TrialResult], call: Call) -> Trial:
        result, tried = done
        if not tried.ran:
            raise KithError(result.report["text"])
        last = tried.ran[-1]
        diff = "".join(file.diff for file in tried.files)
        ok = result.report["status"] == "done"
        return Trial(ok, last.command, last.code, tried.output, diff, round(last.seconds, 2), call.session)

    def _applied(self, result: Result, call: Call) -> Applied:
        report, said = result.report, self._said(call)
        text = report["text"]
        if not report["applied"] and said and said.unasked:
            waited = f"{self.attendant.patience_s:.0f} seconds"
            text = f"Nobody answered within {waited}, so nothing was applied. {HOW} Call again for that."
        feedback = said.text if said else ""
        if report["status"] == "failed":  # a check said no, and nobody was asked
            refusal = self.project.log.past(call.session).refusal
            feedback = refusal.feedback if refusal else feedback
        waits = (waiting_line(call.session),) if report["waiting"] else ()
        text = " ".join((text, *report["receipt"]["warnings"], *waits))
        files = [file["path"] for file in report["changes"]]
        return Applied(bool(report["applied"]), report["applied"] or "", text, feedback, files, call.session)

    def _said(self, call: Call) -> Answer | None:
        """The person's last answer, or the one that nobody gave."""
        inbox = Inbox(self.project.log, call.session)
        return inbox.answer_to(call.asked) if call.asked else None

    def _review(self, told: FinishedReview, call: Call) -> Review:
        if told.result.report["status"] != "done":
            raise KithError(told.result.report["text"])
        shown = as_json(told, told.review.findings[:_MOST])
        fields = Finding.__dataclass_fields__
        findings = [Finding(**{name: each[name] for name in fields}) for each in shown["findings"]]
        left = len(told.review.findings) - len(findings)
        text = shown["text"] or (f"and {count(left, 'more finding')}" if left else "")
        return Review(told.subject.words, findings, text)

    def _task(self, call: Call) -> Task:
        """The receipt of a task, over or waiting."""
        past = self.project.log.past(call.session)
        report = describe_run(call.session, past)
        text, status = report["text"], report["status"]
        if call.waiting:
            question = self.attendant.desk.question(call.session)
            status, text = "waiting", f"{question_text(question) if question else ''} {HOW}".strip()
        elif past.ended is None:
            text = "The process that worked on this ended without a word; `kith doctor` may say why."
        after = report["receipt"]["checks"]["after"]
        return Task(
            status,
            text,
            "".join(file["diff"] for file in report["changes"]),
            [f"{each['gate']}: {'passed' if each['ok'] else 'failed'}" for each in after],
            list(report["receipt"]["not_checked"]),
            report["model"],
            report["usage"]["input"] + report["usage"]["output"],
            report["usage"]["seconds"]["total"],
            call.session,
        )


def _client(ctx: Ctx) -> str:
    """Return the client's name."""
    client = ctx.session.client_params
    return client.client_info.name if client else "an agent"


# The server: which tools there are, what they promise, and how a mistake is told.

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
