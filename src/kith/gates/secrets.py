"""The gate against secrets: nothing that opens a door is written into a file."""

from collections.abc import Iterator
from typing import Final

from kith.context.secrets import find_secrets
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.gates.changed import changed_lines

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
