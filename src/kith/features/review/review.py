"""The review of a change: tools first, then the model part by part, then the check of what it claims."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from kith.agent.roles import Cast, Player
from kith.core.errors import KithError, LimitError, ModelError
from kith.core.events import Notice, Reviewed
from kith.core.run import Run, Thread
from kith.core.values import Finding
from kith.core.workspace import ExecLimits
from kith.features.review.ask import ask_about, is_confirmed
from kith.features.review.evidence import ThrownOut, as_thrown_out, check_claim
from kith.features.review.merge import merge
from kith.features.review.parts import Lookup, Part, define_names, make_parts, room_of
from kith.features.review.sheets import Sheets, Subject, make_sheets
from kith.features.review.tools import find_by_tools

ROLE: Final = "finder"
DENIED: Final = "not confirmed on a second look"
REPEATED: Final = "said by another finding already"


@dataclass(frozen=True, slots=True)
class Review:
    """What a review found, what did not hold, and how much of the change the model was asked about.

    `parts` is 0 when no model was asked; `unanswered` of them got no answer, and `trouble` is why.
    """

    findings: tuple[Finding, ...] = ()
    thrown_out: tuple[ThrownOut, ...] = ()
    parts: int = 0
    unanswered: int = 0
    trouble: KithError | None = None


@dataclass(frozen=True, slots=True)
class Reviewing:
    """How to review: limits of one linter, whether errors are asked about twice, where names are defined."""

    limits: ExecLimits
    second_look: bool = False
    lookup: Lookup = lambda name: ()


async def review(run: Run, subject: Subject, cast: Cast | None, how: Reviewing) -> Review:
    """Review a change; without a `cast` no model is asked.

    A model that fails on one part loses no other part, and nothing that the tools found. Raises what opening
    the model raises, and TreeError.
    """
    sheets = make_sheets(subject.changes)
    player = await cast(ROLE) if cast else None
    with run.step("linters") as step:
        by_tools = await find_by_tools(step, subject, sheets, how.limits)
    asked = await _ask_all(run, sheets, cast, player, how) if cast and player else Review()
    findings, repeated = merge((*by_tools, *asked.findings))
    told_twice = (as_thrown_out(each, REPEATED) for each in repeated if each in asked.findings)
    thrown_out = (*asked.thrown_out, *told_twice)
    run.emit(Reviewed(findings, dict(Counter(each.reason for each in thrown_out))))
    return replace(asked, findings=findings, thrown_out=thrown_out)


async def _ask_all(run: Run, sheets: Sheets, cast: Cast, player: Player, how: Reviewing) -> Review:
    """What the model says of each part, as far as it holds; one part after the other."""
    parts = make_parts(sheets, room_of(player.window, player.small), one_by_one=player.small)
    done = Review(parts=len(parts), unanswered=len(parts))
    trouble: KithError | None = None
    for number, part in enumerate(parts, 1):
        try:
            player = await cast(ROLE) if number > 1 else player
            with run.step(f"part {number} of {len(parts)}") as step:
                found, out = await _ask_part(step, player, Thread(f"part {number}"), part, sheets, how)
        except LimitError as error:
            trouble = error
            break
        except ModelError as error:
            trouble = error
            where = f"{part.path}, lines {part.first} to {part.last}"
            run.emit(Notice(f"{where}, was not reviewed by the model: {error}", "warning"))
        else:
            findings, thrown_out = (*done.findings, *found), (*done.thrown_out, *out)
            done = replace(done, findings=findings, thrown_out=thrown_out, unanswered=done.unanswered - 1)
    return replace(done, trouble=trouble)


async def _ask_part(
    run: Run, player: Player, thread: Thread, part: Part, sheets: Sheets, how: Reviewing
) -> tuple[list[Finding], list[ThrownOut]]:
    """What the model finds in one part: what holds, and what does not."""
    role = player.role
    context = define_names(part, sheets, how.lookup, room_of(player.window, player.small))
    claims = await ask_about(run, role, thread, part, context)
    checked = [check_claim(claim, sheets, role.model.name) for claim in claims]
    findings = [each for each in checked if isinstance(each, Finding)]
    out = [each for each in checked if isinstance(each, ThrownOut)]
    for finding in [each for each in findings if how.second_look and each.severity == "error"]:
        if not await is_confirmed(run, role, thread, finding):
            findings.remove(finding)
            out.append(as_thrown_out(finding, DENIED))
    return findings, out
