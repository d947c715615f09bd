"""What a task was begun with beside its words, for whoever resumes it or reads of it later."""

from dataclasses import dataclass
from typing import Literal

Planning = Literal["no", "yes", "show"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a task was begun.

    `kind` is the command ("": a plain task), `plan` None where planning has no place. `goal`: the person
    named the checks in the command itself. `symbols`: whether models were offered the index, None where none
    was asked yet. `system` and `append_system` are the person's own system prompt, `commit` is where the tree
    stood. `agree`: of a build, whether its tasks are shown first. `quiet`: of the person's own command,
    whether the model is not told of it. `source`: of a fork, the session that it copies, and `news` what its
    model must know of the files. `gone`: the change that an undo did not find. Coaching tells its model's
    weights (`digest`), the kind of `work`, the `strategy` and the `recorded` task that it tries.
    """

    kind: str = ""
    plan: Planning | None = None
    read_only: bool = False
    check: tuple[str, ...] = ()
    goal: bool = False
    symbols: bool | None = None
    system: str = ""
    append_system: str = ""
    commit: str = ""
    agree: bool = False
    quiet: bool = False
    source: str = ""
    news: str | None = None
    gone: str = ""
    digest: str = ""
    work: str = ""
    strategy: str = ""
    recorded: str = ""

    @property
    def command(self) -> str:
        """The command that the task was given to: `run` for a plain task."""
        return self.kind or "run"
