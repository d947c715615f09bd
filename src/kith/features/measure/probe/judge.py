"""Judges of a probe: each holds a reply against the one right outcome, and says what was wrong."""

import ast
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from kith.core.loop import check_args
from kith.core.model import Tool
from kith.core.values import Reply
from kith.edits import (
    EditError,
    Patch,
    Replace,
    Whole,
    find_edits,
    make_changes,
    paths_of,
    replace_text,
)
from kith.tools.edit import EDIT, WRITE

PATH: Final = "invoice.py"
OLD: Final = "    return round(total, 1)"
NEW: Final = "    return round(total, 2)"
BEFORE: Final = f'''def invoice_total(prices, tax):
    """The sum of all prices, with tax."""
    total = 0
    for price in prices:
        if price < 0:
            continue
        total += price
    if tax is not None:
        total += total * tax
    if total > 10_000:
        total -= 100
{OLD}
'''
AFTER: Final = BEFORE.replace(OLD, NEW)


class Target(Struct, frozen=True):
    """A file that is to be edited, and how it should be afterwards."""

    path: str
    before: str
    after: str


INVOICE: Final = Target(PATH, BEFORE, AFTER)

_FORMS: Final = {
    "block": (Replace, "search/replace block"),
    "whole": (Whole, "whole file"),
    "diff": (Patch, "diff"),
}
CUT: Final = "it ran into the limit"


def expect_call(tool: Tool, wanted: Mapping[str, Any]) -> Callable[[Reply], str]:
    """A judge: the reply calls this tool, once, with these arguments (others may be given too)."""

    def judge(reply: Reply) -> str:
        args, fault = _args_of(reply, tool)
        return fault or _difference(args, wanted)

    return judge


def expect_words(wanted: str) -> Callable[[Reply], str]:
    """A judge: the reply says this in words."""

    def judge(reply: Reply) -> str:
        said = " ".join(reply.message.text.split())
        if reply.stop == "length":
            return CUT
        if wanted in said:
            return ""
        return f"it said {said[-60:]!r}" if said else "it said nothing"

    return judge


def expect_shape(tool: Tool, wanted: Mapping[str, Any]) -> Callable[[Reply], str]:
    """A judge: the reply's text is a JSON object with the tool's name and these arguments."""

    def judge(reply: Reply) -> str:
        if reply.stop == "length":
            return CUT
        try:
            data = json.loads(reply.message.text)
        except ValueError:
            return f"it wrote no JSON object but {_quote(reply.message.text)}"
        if (
            not isinstance(data, dict)
            or data.get("tool") != tool.name
            or not isinstance(data.get("args"), dict)
        ):
            return f"its JSON is no call of {tool.name}: {_quote(reply.message.text)}"
        args, fault = check_args(data["args"], tool.schema)
        return fault or _difference(args, wanted)

    return judge


def judge_edit_call(reply: Reply) -> str:
    """The edit tool was called, and its text, really replaced, makes the file what it should be."""
    args, fault = _args_of(reply, EDIT)
    if fault:
        return fault
    if _plain(args["path"]) != PATH:
        return f"it edits {args['path']!r} in place of {PATH!r}"
    try:
        after = replace_text(BEFORE.encode(), args["old"], args["new"], PATH, args.get("all", False))
    except EditError as error:
        return _first_line(error)
    return _compare(after)


def judge_edit_text(
    form: Literal["block", "whole", "diff"], target: Target = INVOICE
) -> Callable[[Reply], str]:
    """A judge: the reply's text is an edit of this form, which, really applied, gives the right file."""
    kind, title = _FORMS[form]

    def judge(reply: Reply) -> str:
        if reply.stop == "length":
            return CUT
        try:
            edits = find_edits(reply.message.text, {target.path})
            if not edits or not all(isinstance(edit, kind) for edit in edits):
                return f"it wrote no {title} but {_quote(reply.message.text)}"
            if others := set(paths_of(edits)) - {target.path}:
                return f"it edits {min(others)!r} in place of {target.path!r}"
            changes = make_changes(edits, {target.path: target.before.encode()})
        except EditError as error:
            return _first_line(error)
        return _compare(changes[0].after or b"", target)

    return judge


def judge_code(code: str) -> Callable[[Reply], str]:
    """A judge: the code came back through the write tool byte for byte; its last line end may be missing."""

    def judge(reply: Reply) -> str:
        args, fault = _args_of(reply, WRITE)
        if fault:
            return fault
        sent, back = code.rstrip("\n").split("\n"), args["content"].rstrip("\n").split("\n")
        for number, (one, other) in enumerate(zip(sent, back, strict=False), 1):
            if one != other:
                return f"line {number} came back as {_quote(other)}, not {_quote(one)}"
        return "" if len(sent) == len(back) else f"{len(back)} of {len(sent)} lines came back"

    return judge


def _args_of(reply: Reply, tool: Tool) -> tuple[dict[str, Any], str]:
    """The checked arguments of the one call that was wanted, or what came in its place."""
    if reply.stop == "length":
        return {}, CUT
    calls = reply.message.calls
    if not calls:
        text = reply.message.text
        written = tool.name in text and "{" in text
        return {}, f"it {'wrote the call as text' if written else 'called no tool'}: {_quote(text)}"
    call = calls[0]
    if call.name != tool.name or len(calls) > 1:
        return {}, f"it called {', '.join(each.name for each in calls)} in place of {tool.name}"
    return ({}, call.fault) if call.fault else check_args(call.args, tool.schema)


def _difference(args: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first argument that is not as it was asked for; blanks around a text, and "./", do not count."""
    for key, value in wanted.items():
        if _plain(args.get(key)) != _plain(value):
            return f"argument {key} is {repr(args.get(key))[:60]}, not {value!r}"
    return ""


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().removeprefix("./")
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _compare(after: bytes, target: Target = INVOICE) -> str:
    """ "" when the file says what it should: the same program, whatever its blank lines and comments."""
    try:
        found = ast.dump(ast.parse(after))
    except SyntaxError as error:
        return f"the edited file is no Python any more: {error.msg}, line {error.lineno}"
    if found == ast.dump(ast.parse(target.after)):
        return ""
    before, wanted, got = (
        {line.strip() for line in text.splitlines()} for text in (target.before, target.after, after.decode())
    )
    there = wanted - before <= got
    return "the edited file says something else" if there else "the change is not in it"


def _quote(text: str) -> str:
    """A piece of what a model said, in one short line."""
    line = " ".join(text.split())
    if not line:
        return "nothing"
    return f"{line[:60]!r}..." if len(line) > 60 else repr(line)


def _first_line(error: EditError) -> str:
    return " ".join(str(error).split("\n\n")[-2 if "\n\n" in str(error) else 0].split())[:200]
