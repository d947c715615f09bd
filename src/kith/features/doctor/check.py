"""One finding of the doctor, and how examinations run: all at once, each for a limited time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from kith.core.errors import KithError

Level = Literal["green", "yellow", "red"]
Tell = Callable[["Check"], None]

LIMIT_S: Final = 3.0  # for each examination; they run side by side


class Check(Struct, frozen=True):
    """The result of one check: its name, level, one sentence, and the command or setting that fixes it.

    Green works; yellow works, but could be better; red does not work. `fix` is "" where there is nothing
    to fix.
    """

    name: str
    level: Level
    text: str
    fix: str = ""


class Examination(Struct, frozen=True):
    """One part of the doctor's checks: `look` reports each result as it finds it.

    `subject` and `fix` are for the case that it takes longer than `limit_s`.
    """

    name: str
    look: Callable[[Tell], Awaitable[None]]
    limit_s: float = LIMIT_S
    subject: str = "This"
    fix: str = "try again when the machine is less busy"


async def run_all(examinations: Sequence[Examination]) -> tuple[Check, ...]:
    """Run all of them; return the results in order. One that hangs is abandoned, with its results so far."""
    rounds = await asyncio.gather(*(_run(each) for each in examinations))
    return tuple(check for found in rounds for check in found)


async def _run(examination: Examination) -> list[Check]:
    found: list[Check] = []
    try:
        async with asyncio.timeout(examination.limit_s):
            await examination.look(found.append)
    except TimeoutError:
        text = f"{examination.subject} took too long: no answer within {examination.limit_s:.0f} s."
        found.append(Check(examination.name, "yellow", text, examination.fix))
    except KithError as error:  # whoever knows more of the mending catches it first
        found.append(Check(examination.name, "red", closed(str(error))))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        found.append(Check(examination.name, "red", closed(f"{where}{error.strerror or error}")))
    return found


def blocking(name: str, look: Callable[[Tell], None]) -> Examination:
    """An examination that only reads files or runs a quick program, in a thread of its own.

    `run_loop` does not wait for a thread whose file system hangs.
    """

    async def apart(tell: Tell) -> None:
        # Told only when it is done: a thread cannot be stopped, and must not tell after its time.
        found: list[Check] = []
        await asyncio.to_thread(look, found.append)
        for check in found:
            tell(check)

    return Examination(name, apart)


def closed(text: str) -> str:
    """Words as one sentence."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
