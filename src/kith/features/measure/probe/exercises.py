"""Define a probe's exercises: small tasks with one right outcome, and checks of the answers."""

import json
from collections.abc import Callable, Mapping
from difflib import unified_diff
from typing import Any, Final, Literal

from msgspec import Struct

from kith.context.budget import estimate_tokens
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import Message, Reply, ToolCall, ToolResult
from kith.features.measure.probe import judge
from kith.features.measure.probe.result import (
    AFTER,
    BLOCK,
    CHOICE,
    CODE,
    DIFF,
    EDIT_TOOL,
    NESTED,
    ONE_TOOL,
    SHAPE,
    WHOLE,
)
from kith.tools.edit import EDIT, WRITE
from kith.tools.files import READ_LIMITS, make_read

Form = Literal["block", "whole", "diff"]
SYSTEM: Final = "You are a careful programmer. Do exactly what you are asked, and nothing more."
QUESTION: Final = "What is 7 times 8? Answer with the number alone."

# Quotes, backslashes, braces and signs beyond ASCII: whatever is easily lost on the way through JSON.
CODE_TEXT: Final = r'''import re

PATH = "C:\\temp\\new"
WORD = re.compile(r"\b[^\W\d_]+\b")
SIGNS = {"tab": "\t", "quote": "\"", "null": "\\0"}


def describe(text: str, limit: int = 3) -> str:
    """Say 'how many' words there are — at most `limit`."""
    words = WORD.findall(text)[:limit]
    if not words:
        return f"{{{text!r}}}: none"
    lines = [f"{n:>2}\t{word}" for n, word in enumerate(words)]
    return "\n".join(lines) + "\n" * (len(lines) % 2)


if __name__ == "__main__":
    for sample in ("naïve café", 'it\'s "fine"', ""):
        print(describe(sample), end="\n\n")
    print(PATH, SIGNS["quote"] * 2)
'''

_CHANGE: Final = "Change it so that the result is rounded to 2 digits in place of 1."


class ProbeExercise(Struct, frozen=True):
    """One thing to try.

    `answer` is a good answer as a model writes it: its size sets the limits. `judge` says what was wrong with
    a reply, "" when nothing was. `said` follows the request: a call that is answered already.
    """

    name: str
    ask: str
    answer: str
    judge: Callable[[Reply], str]
    tools: tuple[Tool, ...] = ()
    shape: Mapping[str, Any] | None = None
    said: tuple[Message, ...] = ()


async def _never(args: Mapping[str, Any], run: Run) -> ToolResult:
    raise AssertionError("a probe runs no tool")


_READ: Final = make_read(READ_LIMITS)
_REPORT: Final = Tool(
    "report",
    "Report a problem in a file.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "line": {"type": "integer"},
            "fixed": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "problem": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["bug", "style"]},
                    "text": {"type": "string"},
                },
                "required": ["kind", "text"],
            },
        },
        "required": ["path", "line", "fixed", "tags", "problem"],
    },
    "read",
    _never,
)
# One list for all exercises with a choice: the server reads it once.
_TOOLS: Final = (_READ, EDIT, WRITE, _REPORT)
_REPORTED: Final = {
    "path": "src/app.py",
    "line": 42,
    "fixed": False,
    "tags": ["parser", "urgent"],
    "problem": {"kind": "bug", "text": "off by one"},
}
_READ_NOTES: Final = {"paths": ["notes.txt"]}
_HELLO: Final = {"path": "hello.txt", "content": "hello"}
_WRITTEN: Final = {"path": "tricky.py", "content": CODE_TEXT}
_EDITED: Final = {"path": judge.PATH, "old": judge.OLD, "new": judge.NEW}


def _call(name: str, args: Mapping[str, Any]) -> str:
    """A tool call as most templates have it written."""
    return json.dumps({"name": name, "arguments": args}, ensure_ascii=False)


def _shape(tool: Tool) -> dict[str, Any]:
    """A reply's text that names the tool and gives its arguments."""
    properties = {"tool": {"const": tool.name}, "args": dict(tool.schema)}
    return {"type": "object", "properties": properties, "required": ["tool", "args"]}


ONE: Final = ProbeExercise(
    ONE_TOOL,
    "Read the file notes.txt with your tool.",
    _call("read", _READ_NOTES),
    judge.expect_call(_READ, _READ_NOTES),
    (_READ,),
)
# Some models say nothing more after a tool's result, most of them only while they may not think.
GO_ON: Final = ProbeExercise(
    AFTER,
    "Which number stands in the file notes.txt? Read it with your tool, then answer with the number alone.",
    "4711",
    judge.expect_words("4711"),
    (_READ,),
    said=(
        Message("assistant", (ToolCall("call_notes", "read", _READ_NOTES),)),
        Message("tool", (ToolResult("call_notes", "notes.txt\nThe number is 4711.\n"),)),
    ),
)
CONSTRAINED: Final = ProbeExercise(
    SHAPE,
    "You may use one tool: read, whose argument `paths` is a list of files. Read the file notes.txt: "
    'answer with a JSON object only, such as {"tool": "read", "args": {"paths": ["a.txt"]}}.',
    json.dumps({"tool": "read", "args": _READ_NOTES}),
    judge.expect_shape(_READ, _READ_NOTES),
    shape=_shape(_READ),
)
CHOOSE: Final = ProbeExercise(
    CHOICE,
    "Create the file hello.txt. Its content is one word: hello",
    _call("write", _HELLO),
    judge.expect_call(WRITE, _HELLO),
    _TOOLS,
)
NEST: Final = ProbeExercise(
    NESTED,
    "Report this problem with your tool: in src/app.py, line 42, there is a bug, in words: off by one. "
    "It is not fixed. Its tags are parser and urgent.",
    _call("report", _REPORTED),
    judge.expect_call(_REPORT, _REPORTED),
    _TOOLS,
)
EDIT_BY_TOOL: Final = ProbeExercise(
    EDIT_TOOL,
    f"This is {judge.PATH}:\n\n```python\n{judge.BEFORE}```\n\n{_CHANGE} Use your tool `edit`.",
    _call("edit", _EDITED),
    judge.judge_edit_call,
    _TOOLS,
)
CODE_THERE_AND_BACK: Final = ProbeExercise(
    CODE,
    f"Create the file tricky.py with exactly this content, character for character:\n\n```\n{CODE_TEXT}```",
    _call("write", _WRITTEN),
    judge.judge_code(CODE_TEXT),
    _TOOLS,
)


def edit_in_words(form: Form, target: judge.Target, change: str) -> ProbeExercise:
    """A file to be edited as `change` says, by a reply whose text is the edit, in this form."""
    path, before, after = target.path, target.before, target.after
    lines = tuple(unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}"))
    old, new = ("".join(line[1:] for line in lines[3:] if line[0] in signs) for signs in (" -", " +"))
    name, how, answer = {
        "block": (
            BLOCK,
            f"Answer with one block of this form, and nothing else:\n\n{path}\n<<<<<<< SEARCH\n"
            "lines to change, copied exactly from the file\n=======\nnew lines\n>>>>>>> REPLACE\n",
            f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n",
        ),
        "whole": (
            WHOLE,
            "Answer with the whole new file, and nothing else: a line with its name, and below it all of its "
            f"content in a fence, like this:\n\n{path}\n```python\n(all lines)\n```\n",
            f"{path}\n```python\n{after}```\n",
        ),
        "diff": (
            DIFF,
            f"Answer with a unified diff, and nothing else. It begins:\n\n--- a/{path}\n+++ b/{path}\n@@ ",
            "".join(lines),
        ),
    }[form]
    shown = f"This is {path}:\n\n```python\n{before}```\n\n"
    return ProbeExercise(name, f"{shown}{change} {how}", answer, judge.judge_edit_text(form, target))


EDIT_BY_BLOCK: Final = edit_in_words("block", judge.INVOICE, _CHANGE)
EDIT_BY_WHOLE: Final = edit_in_words("whole", judge.INVOICE, _CHANGE)
EDIT_BY_DIFF: Final = edit_in_words("diff", judge.INVOICE, _CHANGE)


def speed_text(tokens: int) -> str:
    """A task with about `tokens` of made-up code to read, and numbers to write."""
    lines: list[str] = []
    size = 0
    while size < tokens:
        number = len(lines)
        lines.append(f"def step_{number}(value):\n    return value * {number % 7} + offset[{number}]\n")
        size += estimate_tokens(lines[-1])
    return "\n".join(lines) + "\n\nWrite the numbers from 1 to 40, separated by blanks."
