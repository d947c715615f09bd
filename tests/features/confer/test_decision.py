"""A council's plans are carried out and compared, whether or not anybody hears of it."""

import asyncio
import sys
from pathlib import Path

import pytest

from building import drop
from conferring import MEND
from kith.agent.asking.roles import find_role
from kith.agent.judges import Checking, make_judges
from kith.agent.roles import Player, make_role
from kith.core.run import Run
from kith.core.values import Answer, Question, Sampling
from kith.core.workspace import ExecLimits, SizeLimits
from kith.features.confer.council_rules import Proposal, Seat
from kith.features.confer.debate import CouncilDecision
from kith.features.confer.decision import Settling, settle
from kith.features.confer.members import Council, Ledger, Member
from kith.features.demo.replay import Replay
from kith.tools import standard_tools
from kith.trees.local import open_tree

DONE = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}


def play(*replies: object) -> Player:
    model = Replay("m", list(replies))
    role = make_role(find_role("worker"), model, standard_tools(), Sampling(), small=False)
    return Player(role, 16_384, False)


async def yes(question: Question) -> Answer:
    return Answer("all" if question.kind == "change" else "yes")


async def commit(paths: object, message: str) -> str:
    raise AssertionError("nothing is committed")


def test_tests_decide_although_every_event_is_dropped(
    repository: Path, sandbox: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    players = {"A": play({"text": "I changed nothing."}), "B": play(MEND, DONE)}

    async def worker(label: str) -> Player:
        return players[label]

    async def go() -> tuple[CouncilDecision, str]:
        tree = open_tree(repository, repository.parent / "state", repository.parent / "cache")
        run = Run(drop, yes, tree)
        limits = ExecLimits(seconds=60.0)
        checking = Checking(("python3 -m unittest -q tests.test_utils",), True, limits, SizeLimits())
        judges = make_judges(run, checking, commit)
        members = {label: Member(Seat(label, "m"), players[label].role) for label in "AB"}
        council = Council("k", "edit", "Mend mean.", "Mend mean.", members, Ledger(10_000))
        council.proposals.update({label: Proposal("Divide by the length.") for label in "AB"})
        open_choice = CouncilDecision("A", "limit", "nothing tells them apart", ("A", "B"))
        decision, outcome = await settle(run, council, open_choice, Settling(worker, "Mend mean.", judges))
        return decision, outcome.status

    decision, status = asyncio.run(go())
    assert (decision.choice, decision.by, status) == ("B", "tests", "done")
    assert "(len(numbers) + 1)" not in (repository / "utils.py").read_text()
