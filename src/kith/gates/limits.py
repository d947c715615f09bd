"""The gate for what is never applied: too large, binary, or a mark in place of a secret."""

from typing import Final

from kith.context.redact import MARK
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.core.workspace import SizeLimits

_MARK: Final = MARK.encode()


def limits_gate(limits: SizeLimits) -> Gate:
    """Refuses a change that the tree would refuse anyway, with words the model can act on."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        faults = [fault for change in changes if (fault := _fault(change, limits))]
        total = sum(len(change.after or b"") for change in changes)
        if total > limits.change:
            faults.append(f"The change is {total:,} bytes in all; the limit is {limits.change:,}.")
        return Verdict(not faults, "\n".join(faults), "limits")

    return judge


def _fault(change: Change, limits: SizeLimits) -> str:
    path, before, after = change.path, change.before or b"", change.after
    if len(before) > limits.file:
        return f"{path} was {len(before):,} bytes, over the limit of {limits.file:,} for one file. Leave it."
    if b"\0" in before:
        return f"{path} was a binary file, which kith does not change. Leave it."
    if after is None:
        return ""
    if after.count(_MARK) > before.count(_MARK):
        return (
            f"{path} would hold {MARK!r}, which stands there for you in place of a secret. Edit the lines "
            "around it, or change the file by a command."
        )
    if len(after) > limits.file:
        return f"{path} is {len(after):,} bytes, over the limit of {limits.file:,} for one file."
    if b"\0" in after:
        return f"{path} is a binary file, which kith does not apply. Delete it."
    return ""
