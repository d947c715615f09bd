"""What a model is asked on the bench with one right answer each: calls of tools, and edits in three forms."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kith.core.errors import ModelError
from kith.features.measure.bench.result import Score, Tried
from kith.features.measure.probe import exercises as probed
from kith.features.measure.probe import judge
from kith.features.measure.probe.bench import Bench
from kith.features.measure.probe.exercises import Exercise, Form, edit_in_words
from kith.features.measure.probe.result import BLOCK, DIFF, WHOLE
from kith.tools.edit import EDIT
from kith.tools.files import READ_LIMITS, make_read
from kith.tools.write import WRITE

TOOLS: Final = "tool calls"
FORMS: Final[dict[Form, str]] = {"block": BLOCK, "whole": WHOLE, "diff": DIFF}

_READ: Final = make_read(READ_LIMITS)
_OFFERED: Final = (_READ, EDIT, WRITE)
_POEM: Final = "He said: \"no\".\n\n    She said:\t'yes'.\n"

_TARGETS: Final = (
    (judge.INVOICE, "Change it so that the result is rounded to 2 digits in place of 1."),
    (
        judge.Target(
            "greeting.py",
            'def greet(name):\n    return "Hello, " + name + "!"\n\n\n'
            'def part(name):\n    return "Goodbye, " + name + "!"\n',
            'def greet(name):\n    return "Hello, " + name + "!"\n\n\n'
            'def part(name):\n    return "Farewell, " + name + "!"\n',
        ),
        'Let `part` say "Farewell" in place of "Goodbye".',
    ),
    (
        judge.Target(
            "counter.py",
            "class Counter:\n    def __init__(self):\n        self.value = 0\n\n"
            "    def up(self):\n        self.value += 1\n        return self.value\n",
            "class Counter:\n    def __init__(self):\n        self.value = 0\n\n"
            "    def up(self):\n        self.value += 1\n        return self.value\n\n"
            "    def down(self):\n        self.value -= 1\n        return self.value\n",
        ),
        "Below `up`, add a method `down` that takes 1 off the value and returns it, in the style of `up`.",
    ),
    (
        judge.Target(
            "shapes.py",
            "def area(width, height):\n    print(width, height)\n    return width * height\n\n\n"
            "def outline(width, height):\n    print(width, height)\n    return 2 * (width + height)\n",
            "def area(width, height):\n    print(width, height)\n    return width * height\n\n\n"
            "def outline(width, height):\n    return 2 * (width + height)\n",
        ),
        "Remove the print from `outline`, and only from there.",
    ),
)


def _call(name: str, ask: str, tool: str, args: dict[str, object]) -> Exercise:
    """One call that is wanted, with a choice of three tools."""
    answer = json.dumps({"name": tool, "arguments": args})
    wanted = next(each for each in _OFFERED if each.name == tool)
    return Exercise(name, ask, answer, judge.expect_call(wanted, args), _OFFERED)


CALLS: Final = (
    probed.ONE,
    _call(
        "two files",
        "Look at src/main.py and at README.md, with one call.",
        "read",
        {"paths": ["src/main.py", "README.md"]},
    ),
    probed.CHOOSE,
    probed.EDIT_BY_TOOL,
    _call(
        "text with quotes",
        f"Create the file poem.txt with exactly this content:\n\n{_POEM}",
        "write",
        {"path": "poem.txt", "content": _POEM},
    ),
    _call(
        "edit of a line",
        "The file limits.py holds the line `MAX_SIZE = 10`, once. Make it `MAX_SIZE = 25`.",
        "edit",
        {"path": "limits.py", "old": "MAX_SIZE = 10", "new": "MAX_SIZE = 25"},
    ),
    probed.NEST,
    probed.CODE_THERE_AND_BACK,
)


def edits(form: Form) -> Iterator[Exercise]:
    """The same changes, each wanted in this form."""
    for target, change in _TARGETS:
        yield replace(edit_in_words(form, target, change), name=target.path)


async def try_all(bench: Bench, name: str, exercises: tuple[Exercise, ...]) -> Score:
    """One exercise after the other, as far as the time goes; a server in trouble ends it."""
    tried: list[Tried] = []
    for number, exercise in enumerate(exercises):
        if bench.cost(exercise) > bench.left:
            return Score(name, tuple(tried), len(exercises) - number)
        left = bench.left
        try:
            reply = await bench.solve(exercise)
        except TimeoutError:
            return Score(name, tuple(tried), len(exercises) - number)
        except ModelError as error:
            # A tool call that its own server cannot read is the model's fault; a server in trouble is not.
            if error.retryable and "tool call" not in str(error):
                return Score(name, tuple(tried), len(exercises) - number, "" if tried else str(error))
            tried.append(Tried(exercise.name, str(error), round(left - bench.left, 2)))
        else:
            why, tokens = exercise.judge(reply), reply.usage.output
            tried.append(Tried(exercise.name, why, round(left - bench.left, 2), tokens))
    return Score(name, tuple(tried))
