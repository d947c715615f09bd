"""What a person may choose about a build."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kith.core.workspace import ExecLimits, SizeLimits


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Limits and wishes of one build.

    `coverage`: percent of the lines that the tests must run; None: measured where it costs little and only
    said; 0: not measured. `commands`: the project's own gates, by name. `trusted`: the person needs no
    question before the project's tests run without a sandbox. `known`: what is known beforehand, as a model
    with a window of so many tokens is told it.
    """

    max_retries: int = 3  # of a task, after its first try
    max_tasks: int = 12
    max_files: int = 40  # that one task may change
    max_lines: int = 1_500
    coverage: float | None = None
    refine: bool = True
    agree: bool = True  # the person is shown the tasks before anything is written
    commit: bool = False
    step_seconds: float | None = 1_800.0  # of one step in which a model works
    commands: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    suite: ExecLimits = ExecLimits(seconds=900.0)
    sizes: SizeLimits = SizeLimits()
    known: Callable[[int], str] = lambda window: ""
