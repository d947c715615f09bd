"""Implement a task: code, gates, and a review's advice; then refine it, or roll it back."""

from typing import Literal

from kith.agent.roles import Player
from kith.context.budget import output_room
from kith.core.events import Notice
from kith.features.build.judging import judge_task
from kith.features.build.prompts import (
    ask_again,
    ask_for_advice,
    ask_for_code,
    ask_to_refine,
    cut_advice,
    failure_of,
    show,
)
from kith.features.build.state import BuildStep
from kith.features.build.suite import show_first
from kith.features.build.tasks import dependents
from kith.features.build.work import AUTHOR, Work, begin, between, speak

_DIFF_BYTES = 12_000
_PACKET_BYTES = 3_000  # of what another model left


async def implement(work: Work) -> tuple[Literal["written"], str]:
    """The implementer makes the locked tests pass; what it wrote until a limit is judged like the rest."""
    piece, last = work.build.piece, work.build.last
    player = await work.cast("implementer")
    thread = work.thread(piece.task.id, "implement", *([str(player.leg)] if player.leg > 1 else []))
    failure, author = failure_of(piece, player.small), AUTHOR
    if last and last.step == BuildStep.APPROVE:
        words, author = last.text, "person"
    elif not thread.messages:
        files = piece.locked.files if piece.locked else {}
        left = await take_over(work, player) if player.leg > 1 else ""
        words = f"{ask_for_code(piece.task, sorted(files), failure)}{left}"
    else:
        words = ask_again(failure, last.text if last and last.step == BuildStep.REVIEW else "")
    await begin(work, player, thread, words, author, look=False)
    return "written", await speak(work, player, thread)


async def take_over(work: Work, player: Player) -> str:
    """Describe the former implementer's work for the one that takes over.

    It is kept where more of the task's tests pass with it than without, else it is rolled back.
    """
    piece = work.build.piece
    change = between(await work.changes_at(piece.specified), await work.changes())
    if not change:
        return ""
    before, now = (
        piece.gates[gate].figures.get("reached", 0) if gate in piece.gates else 0
        for gate in ("spec", "tests")
    )
    kept, how = now > before, "kept" if now > before else "rolled back"
    if not kept:
        await work.trial.go_back(piece.specified)
    told = f"{now:g} of the task's tests pass with it, {before:g} without"
    work.run.emit(Notice(f"The former implementer's change was {how}: {told}."))
    shown = show(change, output_room(player.window, _PACKET_BYTES))
    where = "is in the files" if kept else "was taken back"
    return f"\n\nAnother model tried this before you. Its change {where}:\n{shown}"


async def check(work: Work) -> tuple[Literal["yes", "better", "no", "limit"], str]:
    """All tests and gates.

    A small model goes from test to test: a no with more of the task's tests passing than ever costs it no
    retry.
    """
    piece = work.build.piece
    best, refusals = piece.best, piece.refusals
    verdict, standing = await judge_task(work)
    if verdict.ok:
        return "yes", ""
    better, said = False, verdict.feedback
    if standing and not standing.ok:
        better = standing.figures["reached"] > best
        said = await show_first(work.run, standing, work.build.locked_files)
    if better and (await work.cast("implementer")).small:
        return "better", said
    return "limit" if refusals >= work.options.max_retries else "no", said


async def review(work: Work) -> tuple[Literal["advised"], str]:
    """The reviewer reads task, change and failure, and gives one instruction."""
    piece = work.build.piece
    thread = work.thread(piece.task.id, "review", str(piece.attempts))
    player = await work.cast("reviewer")
    if not work.build.spoken:
        change = between(await work.changes_at(piece.specified), await work.changes())
        chars = output_room(player.window, _DIFF_BYTES)
        words = ask_for_advice(piece.task, change, failure_of(piece, player.small), chars)
        await begin(work, player, thread, words, look=False)
    await speak(work, player, thread, writes=False)
    return "advised", cut_advice(thread.last_words)


async def roll_back(work: Work) -> tuple[Literal["rolled back"], str]:
    """Everything is as it was before the task; tasks that need it are left out."""
    piece = work.build.piece
    await work.trial.go_back(piece.base)
    why = piece.refusal.strip().split("\n")[0]
    if piece.kept:
        work.run.emit(Notice(f"Your revision failed and was rolled back: {why}", "warning"))
        return "rolled back", why
    lost = dependents(work.build.tasks, piece.task.id)
    work.run.emit(Notice(f"Task {piece.task.id} ({piece.task.title}) is rolled back: {why}", "warning"))
    if lost:
        work.run.emit(Notice(f"Without it these cannot be done: {', '.join(sorted(lost))}.", "warning"))
    return "rolled back", why


# A change that works may become simpler, as long as every gate still says yes.

_REFINED_DIFF_BYTES = 16_000


async def refine(work: Work) -> tuple[Literal["written", "skipped"], str]:
    """The refiner may simplify what was written for the task; the text is the limit that stopped it."""
    if not work.options.refine:
        return "skipped", ""
    piece = work.build.piece
    thread, player = work.thread(piece.task.id, "refine"), await work.cast("refiner")
    if not work.build.spoken:
        change = between(await work.changes_at(piece.specified), await work.changes_at(piece.good))
        words = ask_to_refine(piece.task, change, output_room(player.window, _REFINED_DIFF_BYTES))
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
    work.run.emit(Notice(f"The simpler version of task {piece.task.id} was discarded: {why}."))
    return "discarded", why
