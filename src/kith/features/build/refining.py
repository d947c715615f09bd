"""A change that works may become simpler, as long as every gate still says yes."""

from typing import Literal

from kith.context.rooms import output_room
from kith.core.events import Notice
from kith.features.build.judging import judge_task
from kith.features.build.letters import ask_to_refine
from kith.features.build.work import Work, begin, between, speak

_DIFF_BYTES = 16_000


async def refine(work: Work) -> tuple[Literal["written", "skipped"], str]:
    """The refiner may simplify what was written for the task; the text is the limit that stopped it."""
    if not work.options.refine:
        return "skipped", ""
    piece = work.build.piece
    thread, player = work.thread(piece.task.id, "refine"), await work.cast("refiner")
    if not work.build.spoken:
        change = between(await work.changes_at(piece.specified), await work.changes_at(piece.good))
        words = ask_to_refine(piece.task, change, output_room(player.window, _DIFF_BYTES))
        await begin(work, player, thread, words, look=False)
    return "written", await speak(work, player, thread)


async def weigh(work: Work) -> tuple[Literal["kept", "discarded", "unchanged"], str]:
    """All tests and gates once more; with any no, the change is again what it was."""
    piece, stopped = work.build.piece, work.build.last.text if work.build.last else ""
    good = await work.changes_at(piece.good)
    if not between(good, await work.changes()):
        return "unchanged", ""
    why = stopped
    if not stopped:
        verdict, _ = await judge_task(work)
        if verdict.ok:
            return "kept", ""
        why = f"{verdict.by} says no"
    await work.trial.go_back(piece.good)
    work.run.emit(Notice(f"The simpler version of task {piece.task.id} is thrown away: {why}."))
    return "discarded", why
