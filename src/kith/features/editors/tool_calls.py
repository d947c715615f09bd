"""A model's tool calls, checks and questions as an editor shows them: kind, places, diffs, output."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from acp.helpers import start_tool_call, text_block, tool_content, tool_diff_content, update_tool_call
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)

from kith.core.line_ranges import Passage, passage_of
from kith.core.values import Changes, FileChange, Question, Ran
from kith.features.editors.buffers import read_small
from kith.view.items import GateVerdict, ToolUse
from kith.view.markup import fenced
from kith.view.printing import printable
from kith.view.wording import line_of, question_text, word_exit, word_size

Contents = list[ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent]

KINDS: Final[Mapping[str, ToolKind]] = {
    "read": "read",
    "list": "read",
    "search": "search",
    "symbols": "search",
    "edit": "edit",
    "write": "edit",
    "bash": "execute",
    "git": "execute",
    "web": "fetch",
}
QUIET: Final = ("todo", "done")  # the plan and the last words show what they did
_VERBS: Final = {"read": "Read", "list": "List", "edit": "Edit", "write": "Write", "git": "git"}


def begun(use: ToolUse, root: Path) -> ToolCallStart:
    """A tool that starts to work."""
    command = {"command": printable(use.target)} if use.name == "bash" else None
    return _start(use, use.target, "in_progress", root).model_copy(update={"raw_input": command})


def refused(use: ToolUse, root: Path) -> ToolCallStart:
    """A call that never began: what it asked for was wrong, or not allowed."""
    line = use.ended.line if use.ended else ""
    return _start(use, "", "failed", root).model_copy(update={"content": [words(line)]})


def _start(use: ToolUse, target: str, status: ToolCallStatus, root: Path) -> ToolCallStart:
    args = use.call.args if use.call else {}
    return start_tool_call(
        use.call_id,
        _title(use.name, target, args),
        kind=KINDS.get(use.name, "other"),
        status=status,
        locations=list(_locations(args, root)) or None,
    )


def ended(use: ToolUse, root: Path) -> ToolCallProgress:
    """Report the answer of a tool."""
    status: ToolCallStatus = "completed" if use.ok else "failed"
    return update_tool_call(use.call_id, status=status, content=_contents(use, root))


def settled(id: str, status: ToolCallStatus, text: str = "") -> ToolCallProgress:
    """A call or a question that is over."""
    return update_tool_call(id, status=status, content=[words(text)] if text else None)


def judged(verdict: GateVerdict, id: str) -> ToolCallStart | None:
    """A check, with its output where it failed; None for one that has nothing to say."""
    event, line = verdict.judged, line_of(verdict)[1].strip()
    if not line:
        return None
    outputs: Contents = [_console(ran) for ran in event.ran if not event.ok]
    if not outputs and event.feedback and not event.ok:
        outputs.append(words(event.feedback))
    return start_tool_call(
        id,
        printable(line.split("\n")[0]),
        kind="execute" if event.ran else "other",
        status="completed" if event.ok or event.skipped or event.when == "before" else "failed",
        content=outputs or None,
    )


def asked(question: Question, contents: Contents, root: Path) -> ToolCallUpdate:
    """A question, as the call that waits for permission."""
    paths = [change.path for change in question.changes] or [file.path for file in question.files]
    return ToolCallUpdate(
        tool_call_id=question.id,
        title=_question(question),
        kind="edit" if question.kind == "change" else "execute" if question.kind == "tool" else "other",
        status="pending",
        content=contents,
        locations=[ToolCallLocation(path=absolute(root, path)) for path in paths] or None,
    )


def started(call: ToolCallUpdate) -> ToolCallStart:
    """The same call as the first word of it; its contents come with the request."""
    return start_tool_call(
        call.tool_call_id, call.title or "", kind=call.kind, status=call.status, locations=call.locations
    )


def diffs(changes: Changes, root: Path) -> Contents:
    """Each file before and after; what is no text is named."""
    found: Contents = []
    for change in changes:
        before, after = _text(change.before), _text(change.after)
        if before is None or after is None:
            found.append(words(f"{change.path} is not text and cannot be shown."))
        else:
            old = None if change.before is None else before
            found.append(tool_diff_content(absolute(root, change.path), after, old))
    return found


def shown_files(files: Sequence[FileChange]) -> Contents:
    """The diffs of a change whose contents are not there any more."""
    return [words(fenced(file.diff, "diff")) for file in files]


def words(text: str) -> ContentToolCallContent:
    return tool_content(text_block(printable(text)))


def absolute(root: Path, path: str) -> str:
    """A path of the tree as editors want it; names that are not UTF-8 are spelled."""
    whole = str(root / path)
    return whole if whole.isprintable() else printable(whole)


def _question(question: Question) -> str:
    text = question_text(question).split("\n")[0]
    if question.kind != "change" or not question.files:
        return printable(text)
    return f"{printable(text)} {word_size(question.files)}"


def _title(name: str, target: str, args: Mapping[str, Any]) -> str:
    target = target.strip().split("\n")[0]
    match name:
        case "bash":
            return printable(target or str(args.get("command", "")).split("\n")[0]) or "bash"
        case "search":
            place = f" in {target}" if target not in ("", ".") else ""
            return printable(f"Search for {args.get('pattern', '')!s}{place}")
        case "symbols":
            return printable(f"Look up {args.get('name', '')!s}")
    return printable(f"{_VERBS.get(name, name)} {target or args.get('path', '')!s}".strip())


def _locations(args: Mapping[str, Any], root: Path) -> Iterator[ToolCallLocation]:
    """The files that a call is about, with the line where it begins."""
    paths = args.get("paths", args.get("path", ()))
    for path in [paths] if isinstance(paths, str) else paths if isinstance(paths, list) else ():
        passage = passage_of(str(path)) if "paths" in args else Passage(str(path))
        place = _place(root, passage.path)
        if place is not None and place != root and place.is_relative_to(root):
            line = passage.start if passage.start > 1 else _line(place, args.get("old"))
            yield ToolCallLocation(path=absolute(root, str(place)), line=line)


def _place(root: Path, path: str) -> Path | None:
    """Resolve a path; None for links in a circle, and for what can be no name."""
    try:
        return (root / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _line(place: Path, old: object) -> int | None:
    """The line of a text in a file, as far as that is easily found."""
    text = read_small(place) if isinstance(old, str) and old else None
    before, found, _ = (text or "").partition(str(old))
    return before.count("\n") + 1 if found else None


def _contents(use: ToolUse, root: Path) -> Contents | None:
    args, ended = use.call.args if use.call else {}, use.ended
    path = absolute(root, str(args.get("path", "")))
    if use.ok and use.name == "edit":
        return [tool_diff_content(path, printable(str(args["new"])), printable(str(args["old"])))]
    if use.ok and use.name == "write" and not args.get("append"):
        return [tool_diff_content(path, printable(str(args["content"])))]
    if ended and ended.ran:
        return [_console(ended.ran)]
    return [words(ended.line)] if ended and ended.line else None


def _console(ran: Ran) -> ContentToolCallContent:
    """A command and its output, as a terminal would show them."""
    return words(fenced(f"$ {ran.command}\n{ran.output.rstrip()}\n[{word_exit(ran)}]", "console"))


def _text(data: bytes | None) -> str | None:
    """Decode a file's text: "" for no file, None for bytes that are no text."""
    try:
        return (data or b"").decode("utf-8") if b"\0" not in (data or b"") else None
    except UnicodeDecodeError:
        return None
