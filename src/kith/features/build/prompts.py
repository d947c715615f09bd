"""The prompts for the roles of a build, each a whole message."""

from collections.abc import Sequence
from typing import Final

from kith.context.budget import fit_middle
from kith.core.values import BuildTask, Changes
from kith.edits import summarise
from kith.features.build.state import Build, TaskProgress

AGAIN: Final = "Send the whole JSON object again."
NO_TESTS: Final = (
    "You wrote no test file. Write the tests of the task into a file that this project's test runner finds."
)
CHANGED_LOCKED: Final = (
    "Locked tests may be added to, but no line of them changed or removed. They were put back"
)
_ADVICE_WORDS: Final = 120  # the reviewer's one instruction


def describe_task(task: BuildTask) -> str:
    """A task in full, for the role that works on it."""
    criteria = "\n".join(f"- {criterion}" for criterion in task.criteria)
    places = f"\nWhere: {', '.join(task.files)}" if task.files else ""
    return f"# {task.title}\n{task.text}{places}\n\nDone when:\n{criteria}".replace("\n\n\n", "\n\n")


def ask_for_tests(task: BuildTask, locked: Sequence[str]) -> str:
    """The spec author's first message about a task."""
    kept = f"\n\nTests of earlier tasks are locked: {', '.join(locked)}." if locked else ""
    return f"{describe_task(task)}{kept}\n\nWrite the tests of this task now."


def ask_to_cover(tasks: Sequence[BuildTask], feedback: str, locked: Sequence[str]) -> str:
    """The spec author's message about lines that no test runs."""
    told = "\n\n".join(describe_task(task) for task in tasks)
    return (
        f"{told}\n\nThis time the code is there, and right. {feedback}\n\nWrite tests for these lines, in a "
        f"new file or added to {', '.join(locked)}. Each must pass now, and fail if such a line were wrong."
    )


def ask_for_code(task: BuildTask, locked: Sequence[str], failure: str) -> str:
    """The implementer's first message about a task."""
    where = f"Its tests are in {', '.join(locked)}, and locked. This is how they fail now:"
    return f"{describe_task(task)}\n\n{where}\n\n{failure}"


def ask_again(failure: str, advice: str) -> str:
    """The implementer's next message after a no."""
    said = f"\n\nA reviewer read your change and says:\n{advice}" if advice else ""
    return f"{failure}{said}"


def ask_for_advice(task: BuildTask, changes: Changes, failure: str, chars: int) -> str:
    """The reviewer's message: the task, the change (in at most `chars` characters) and how it failed."""
    return f"{describe_task(task)}\n\n# The change\n{show(changes, chars)}\n\n# The failure\n{failure}"


def ask_to_refine(task: BuildTask, changes: Changes, chars: int) -> str:
    """The refiner's message."""
    return f"# {task.title}\nThis is the change that was made:\n\n{show(changes, chars)}"


def show(changes: Changes, chars: int) -> str:
    """Changes as a diff, cut in its middle where it is long."""
    diff = "".join(file.diff for file in summarise(changes))
    return fit_middle(diff, chars).strip() or "(nothing was changed)"


def cut_advice(words: str) -> str:
    """A reviewer's reply as one instruction, without what goes beyond it."""
    kept = words.split()
    return words.strip() if len(kept) <= _ADVICE_WORDS else " ".join(kept[:_ADVICE_WORDS]) + " ..."


def tell_left(build: Build) -> str:
    """List unfinished tasks and the reasons, for the person."""
    left = [piece for piece in build.pieces.values() if piece.state in ("rolled back", "skipped")]
    return " ".join(f"{piece.task.title}: {piece.state}, {piece.why.rstrip('.')}." for piece in left)


def failure_of(piece: TaskProgress, small: bool) -> str:
    """The last no of a gate; one failing test at a time where the model has little room."""
    return (piece.said if small else piece.refusal) or piece.said
