"""`kith permits`: list what needs no question here, and revoke it."""

import argparse
import sys

from kith.agent.permits import decide_here, forget, remembered
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.memory.permits import Permit
from kith.terminal.options import find_root
from kith.view.lines import count, wrapped
from kith.view.printing import printable


def permits_command(args: argparse.Namespace) -> int:
    """List what was allowed for good, forget it, or say how a command would be taken."""
    root = find_root(args.folder)
    if args.explain is not None:
        if not args.explain.strip():
            raise UsageError("--explain takes a command, such as 'git log --oneline'.")
        decision = decide_here(root, args.explain)
        how = (
            "needs no question: it only looks." if decision.allowed else f"is asked about. {decision.reason}"
        )
        print(wrapped(f"{printable(args.explain)}  {how}", sys.stdout, indent="  "))
        return EXIT_DONE if decision.allowed else EXIT_REJECTED
    permits = remembered(root)
    if args.forget is not None:
        chosen = _chosen(args.forget, len(permits))
        forget(root, tuple(permits[place] for place in chosen))
        if chosen:
            print(f"Forgot {count(len(chosen), 'permit')}; you are asked again.")
            return EXIT_DONE
    for number, permit in enumerate(permits, 1):
        shown = permit_text(permit).replace("\n", "\n     ")
        print(wrapped(f"{number:3}  {shown}", sys.stdout, indent=" " * 5))
    if not permits:
        print("Nothing was allowed for good here.", file=sys.stderr)
    return EXIT_DONE


def permit_text(permit: Permit) -> str:
    """A permit in words: a command, or `reach HOST`."""
    what = {"net": "reach ", "web": "read pages of ", "call": "call "}.get(permit.effect, "")
    return f"{what}{printable(permit.pattern)}"


def _chosen(numbers: list[int], there: int) -> list[int]:
    """The places of what is to be forgotten; no number means everything."""
    if strange := [number for number in numbers if not 0 < number <= there]:
        raise UsageError(f"There is no permit {strange[0]} here; `kith permits` lists them.")
    return [number - 1 for number in dict.fromkeys(numbers)] or list(range(there))
