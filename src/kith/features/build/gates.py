"""Gates of a build: a change is not too large, writes no secret, and passes the configured commands."""

from collections.abc import Iterator
from typing import Final

from kith.context.secrets import find_secrets
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.core.workspace import ExecLimits
from kith.edits import summarise
from kith.edits.rows import changed_lines
from kith.gates.evidence.feedback import write_exit
from kith.gates.results.run import run_suite
from kith.gates.toolchain import Toolchain


def size_gate(max_files: int, max_lines: int) -> Gate:
    """Refuses a change of more files, or of more added and removed lines together, than the person wants."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        sizes = {each.path: each.added + each.removed for each in summarise(changes)}
        lines = sum(sizes.values())
        faults = []
        if len(sizes) > max_files:
            faults.append(f"it touches {len(sizes)} files, and at most {max_files} are wanted")
        if lines > max_lines:
            faults.append(f"it adds and removes {lines:,} lines, and at most {max_lines:,} are wanted")
        figures = {"files": float(len(sizes)), "lines": float(lines)}
        return Verdict(not faults, _letter(faults, sizes) if faults else "", "size", figures=figures)

    return judge


def _letter(faults: list[str], sizes: dict[str, int]) -> str:
    largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
    told = ", ".join(f"{path} ({sizes[path]:,} lines)" for path in largest)
    return (
        f"Your change is too large: {'; '.join(faults)}. The largest parts: {told}. "
        "Take back what the task does not need."
    )


_LETTER: Final = (
    "Your change writes what looks like a secret into a file:\n\n{}\n\nTake it out. Code reads a secret "
    "from the environment or a file outside the repository; a test uses an obvious placeholder."
)


def secrets_gate() -> Gate:
    """Refuses a change that adds a line with a secret; the secret is never repeated."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        found = [(change.path, line, rule) for change in changes for line, rule in _added_secrets(change)]
        told = "\n".join(f"{path}:{line}: {rule}" for path, line, rule in found)
        return Verdict(not found, _LETTER.format(told) if found else "", "secrets")

    return judge


def _added_secrets(change: Change) -> Iterator[tuple[int, str]]:
    found = find_secrets((change.after or b"").decode("utf-8", "replace"))
    if found:
        lines = changed_lines(change)
        yield from ((line, rule) for line, rule in found if line in lines)


def command_gate(name: str, command: str, limits: ExecLimits) -> Gate:
    """A gate of this `name` that runs `command` in the trial; it must end with 0, whatever it said before."""
    toolchain = Toolchain(name, "", "the project's configuration", command)

    async def judge(run: Run, changes: Changes) -> Verdict:
        report = await run_suite(run, toolchain, limits)
        letter = "" if report.ok else write_exit(report)
        return Verdict(report.ok, letter, name, (report.ran,), figures={"seconds": report.ran.seconds})

    return judge
