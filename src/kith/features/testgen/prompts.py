"""Word the prompts for the tester: the task, then what was dropped, missed and not run."""

import re
from collections.abc import Sequence
from posixpath import splitext
from typing import Final

from kith.context.budget import ASSUMED_WINDOW, fit_middle
from kith.features.testgen.mutants import Mutant, show_mutant
from kith.features.testgen.mutation import WHOLE, MutationBench
from kith.features.testgen.result import Dropped, TestRuling
from kith.features.testgen.target import CodeUnderTest, TestLocation

CHARS_PER_TOKEN: Final = 3
_SURVIVORS: Final = 8  # shown at once: more than that no small model answers to
_LINES: Final = 12
_STYLE_LINES: Final = 40
_MORE: Final = "Write the missing tests into {}: new ones only, the kept ones stay by themselves."
NO_FILE: Final = "You wrote no file. Answer with the path of the test file on a line, then one fenced block."


def first_prompt(target: CodeUnderTest, place: TestLocation, there: bytes, window: int, small: bool) -> str:
    """The task: what is to be tested, how tests look here, what to write and how it will be judged.

    `there` is what the file of tests holds already.
    """
    room = (window or ASSUMED_WINDOW) * CHARS_PER_TOKEN // 3
    kind = place.toolchain.name if place.toolchain.runner != "command" else "a program that exits with 0"
    task = (
        f"# Task\nWrite tests ({kind}) for {target.label} into {place.out}; nothing else may change.\n"
        f"They are run with `{place.toolchain.test}`. {_import_hint(target)}"
        "The code is taken to be right: every test must pass on it. Then small faults are planted in it, and "
        "a test that notices none of them is dropped. Test exact results: ordinary cases, edges, errors."
    )
    more = f"{place.out} holds tests already: they stay, so send only new ones, with what they need."
    parts = [_show_target(target, room), _style(place, room // (8 if small else 4)), task]
    return "\n\n".join(part for part in [*parts, more if there.strip() else ""] if part)


def next_prompt(
    bench: MutationBench, ruling: TestRuling, survivors: Sequence[Mutant], missed: Sequence[int]
) -> str:
    """Word what came of a round, and what is still missing."""
    if ruling.refusal:
        return ruling.refusal
    kept = ", ".join(name for name in ruling.held.kills if name != WHOLE)
    parts = [f"Kept: {kept}." if kept else "No test was kept." if not ruling.held.text else ""]
    wrong = [each for each in ruling.dropped if each.suspect]
    if wrong:
        parts.append(
            "These fail on the code as it is, so they were dropped; the code counts as right:\n"
            f"{ruling.failures or _listed(wrong)}"
        )
    parts += [_listed([each for each in ruling.dropped if not each.suspect])]
    if survivors:
        shown = [show_mutant(bench.target.source, each) for each in survivors[:_SURVIVORS]]
        parts.append("No test notices these changes of the code:\n" + "\n".join(shown))
    if missed:
        parts.append(f"No test runs these lines:\n{_lines(bench.target, missed)}")
    parts.append(again(bench.out) if bench.whole else _MORE.format(bench.out))
    return "\n\n".join(part for part in parts if part)


def again(out: str) -> str:
    """Asks for another version of the file."""
    return f"Send {out} again, whole."


def only_block(words: str) -> str:
    """The one fenced block of a reply that names no file, "" when there is none or there are several."""
    blocks = re.findall(r"^```[\w+-]*\n(.*?)^```\s*$", words, re.M | re.S)
    return blocks[0] if len(blocks) == 1 else ""


def _listed(dropped: Sequence[Dropped]) -> str:
    return "\n".join(f"Dropped: {each.name or 'your file'}: {each.reason}" for each in dropped)


def _show_target(target: CodeUnderTest, chars: int) -> str:
    """The whole file if there is room, else the lines that matter with a few around them."""
    text = target.text
    if len(text) > chars and target.lines:
        rows = text.split("\n")
        first, last = target.lines[0][0], target.lines[-1][1]
        text = "\n".join(rows[max(0, first - 4) : last + 3])
    language = "python" if target.path.endswith(".py") else "cpp"
    return f"# {target.label}\n```{language}\n{fit_middle(text, chars)}\n```"


def _style(place: TestLocation, chars: int) -> str:
    if not place.example.strip():
        return ""
    head = "\n".join(place.example.split("\n")[:_STYLE_LINES])
    return f"# How tests look here\n```\n{fit_middle(head, chars)}\n```"


def _import_hint(target: CodeUnderTest) -> str:
    """Say how a Python module is imported from the project's top folder."""
    path = target.path
    if not path.endswith(".py"):
        return ""
    module = splitext(path)[0].removeprefix("src/").removesuffix("/__init__").replace("/", ".")
    return f"The module is imported as `{module}`. " if re.fullmatch(r"[\w.]+", module) else ""


def _lines(target: CodeUnderTest, numbers: Sequence[int]) -> str:
    rows = target.text.split("\n")
    return "\n".join(f"{number}\t{rows[number - 1]}" for number in numbers[:_LINES] if number <= len(rows))
