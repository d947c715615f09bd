"""Edits that a model wrote as text land in a trial whole, or not at all; a cut reply lands nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kith.agent.attempt import land_edits
from kith.core.run import Run, Thread
from kith.core.values import EXECUTABLE, FILE, Answer, Message, Question, Text, Verdict, say
from kith.trees.local import open_tree

BLOCK = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
OTHER = "a.py\n<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n>>>>>>> REPLACE\n"
Landed = dict[str, tuple[bytes | None, int]]
Land = Callable[..., tuple[Verdict, Landed]]


async def nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody should be asked: {question.text}")


@pytest.fixture
def land(tmp_path: Path, home: Path) -> Land:
    """What becomes of a thread's replies: the verdict, and what the trial then holds."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.py").write_text("x = 1\ny = 1\n")

    async def landed(*messages: Message) -> tuple[Verdict, Landed]:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache", sandbox="off")
        run = Run(lambda event, path: None, nobody, tree)
        thread = Thread("", [say("do it"), *messages])
        async with tree.trial() as trial:
            verdict = await land_edits(run, trial, thread, 1)
            return verdict, {change.path: (change.after, change.mode) for change in await trial.changes()}

    return lambda *messages: asyncio.run(landed(*messages))


def reply(text: str, complete: bool = True) -> Message:
    return Message("assistant", (Text(text),), "model", complete)


def test_all_edits_of_a_reply_land_or_none(land: Land) -> None:
    assert land(reply(BLOCK + OTHER)) == (Verdict(True, by="edits"), {"a.py": (b"x = 2\ny = 2\n", FILE)})
    verdict, changes = land(reply(BLOCK + OTHER.replace("y = 1", "z = 1")))
    assert not verdict.ok and "Edit 1 would have fitted" in verdict.feedback and not changes


def test_a_reply_that_was_cut_lands_nothing(land: Land) -> None:
    verdict, changes = land(reply(BLOCK, complete=False))
    assert not verdict.ok and "cut" in verdict.feedback and not changes


def test_what_follows_a_cut_reply_may_be_its_other_half(land: Land) -> None:
    verdict, changes = land(reply(BLOCK, complete=False), say("Go on.", "kith"), reply(OTHER))
    assert not verdict.ok and not changes
    verdict, changes = land(reply(BLOCK, complete=False), say("again", "edits"), reply(BLOCK + OTHER))
    assert verdict.ok and changes == {"a.py": (b"x = 2\ny = 2\n", FILE)}
    assert land(reply("Let me see", complete=False), say("Go on.", "kith"), reply(BLOCK))[0].ok


def test_a_new_mode_lands_with_the_text(land: Land) -> None:
    new = (
        "diff --git a/go.sh b/go.sh\nnew file mode 100755\n--- /dev/null\n+++ b/go.sh\n@@ -0,0 +1 @@\n+echo\n"
    )
    verdict, changes = land(reply(new))
    assert verdict.ok and changes == {"go.sh": (b"echo\n", EXECUTABLE)}
