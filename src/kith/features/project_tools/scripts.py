"""Read the header of a project's script, and offer the script as a tool that runs in the trial."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from posixpath import basename
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.events import Notice
from kith.core.model import Emit, Tool
from kith.core.run import Run
from kith.core.values import CallTarget, ToolResult
from kith.core.workspace import ShellCommand
from kith.settings.brought import TOOLS
from kith.tools.answers import in_words
from kith.tools.shell import report

_MARK: Final = re.compile(r"^\s*(?:#|//|--|;|%)\s*kith-tool:")
_COMMENT: Final = re.compile(r"^\s*(?:#|//|--|;|%)+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_KINDS: Final = ("string", "integer", "number", "boolean", "array")
_MOST: Final = 20  # tools of one project
_WORDS: Final = 1_000  # characters of a description


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """The header of a script: `arguments` by name, each with `type` and `description`."""

    description: str
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    seconds: float = 60.0


def offer_tools(project: Project, emit: Emit) -> tuple[Tool, ...]:
    """The tools of a trusted project; scripts that are none are told."""
    brought = project.settings.brought
    tools = list[Tool]()
    for path in sorted(path for path in brought.files if path.startswith(f"{TOOLS}/")):
        text = brought.text(path)
        if not text:  # nobody trusts it
            continue
        try:
            tools.append(make_tool(path, read_header(path, text)))
        except UsageError as error:
            emit(Notice(str(error), "warning"))
            continue
        if not os.access(brought.root / path, os.X_OK):
            emit(Notice(f"{path} is not executable, so it fails: chmod +x {shlex.quote(path)}.", "warning"))
    if tools[_MOST:]:
        emit(Notice(f"{TOOLS} holds {len(tools)} tools; only the first {_MOST} are offered.", "warning"))
    return tuple(tools[:_MOST])


def read_header(path: str, text: str) -> Header:
    """The JSON behind `kith-tool:`, over as many lines of comments as it takes. Raises UsageError."""
    lines = iter(text.splitlines())
    begin = next((line for line in lines if _MARK.match(line)), None)
    if begin is None:
        raise UsageError(f"{path} is no tool: it has no comment `kith-tool: {{...}}`.")
    told = _MARK.sub("", begin, count=1)
    while True:
        try:
            data = json.loads(told)
            break
        except (ValueError, RecursionError) as error:
            following = next(lines, "")
            if not _COMMENT.match(following):
                raise UsageError(f"{path} is no tool: its header is no JSON ({error}).") from None
            told += "\n" + _COMMENT.sub("", following, count=1)
    try:
        header = msgspec.convert(data, Header)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is no tool: {error}.") from None
    return _checked(path, header)


def _checked(path: str, header: Header) -> Header:
    for name, about in header.arguments.items():
        if (
            not _NAME.fullmatch(name)
            or about.get("type") not in _KINDS
            or about.keys()
            - {
                "type",
                "description",
                "enum",
            }
        ):
            raise UsageError(
                f"{path} is no tool: the argument {name!r} needs a plain name and a `type` of "
                f"{', '.join(_KINDS)}; `description` and `enum` may follow."
            )
    if unknown := [name for name in header.required if name not in header.arguments]:
        raise UsageError(f"{path} is no tool: `required` names {unknown[0]!r}, which is no argument.")
    if not header.description.strip() or not 0 < header.seconds <= 3_600:
        raise UsageError(f"{path} is no tool: it needs a `description`, and `seconds` from 1 to 3600.")
    return header


def make_tool(path: str, header: Header) -> Tool:
    """The script as a tool: it gets its arguments as JSON on standard input. Raises UsageError."""
    name = basename(path).partition(".")[0].replace("-", "_")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{path} is no tool: its name is not made of letters, digits, - and _.")
    line = shlex.quote(f"./{path}")

    @in_words
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        asked = ShellCommand(line, input=json.dumps(dict(args), ensure_ascii=False).encode())
        seconds = min(header.seconds, run.limits.exec.seconds)
        ran = await run.workspace.exec(asked, replace(run.limits.exec, seconds=seconds))
        return report(ran, seconds)

    kinds = {"array": {"type": "array", "items": {"type": "string"}}}
    known = {key: {**about, **kinds.get(about["type"], {})} for key, about in header.arguments.items()}
    schema = {"type": "object", "properties": known, "required": list(header.required)}
    words = " ".join(header.description.split())[:_WORDS]
    return Tool(name, words, schema, "exec", use, lambda args: CallTarget(line))
