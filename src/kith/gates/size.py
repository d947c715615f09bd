"""The gate for the size of a change: what nobody can read is sent back."""

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.edits import summarise


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
