"""The words of a pull request: a model's do nothing there, and the receipt is whole."""

import re
from typing import Any

import pytest

from kith.core.codec import encode
from kith.core.evidence import CheckEvidence, Evidence, Names
from kith.features.fleet.publications import Publication
from kith.features.fleet.pull_requests import body_of, title_of
from kith.features.fleet.tasks import FleetTask
from kith.features.forges.texts import neutral

EVIDENCE = Evidence(
    "proven", "fixed", (CheckEvidence("pytest", "proven", "fixed", fixed=Names.of(["test_mean"])),)
)
ACTING = re.compile(
    r"@\w|[#!&~%$]\w|GH-\d|^\s*/\w|\b(close[sd]?|fix(e[sd])?|resolve[sd]?)\b", re.IGNORECASE | re.MULTILINE
)


def publication(request: str = "mend mean", verdict: str = "proven") -> Publication:
    return Publication(1, 1, "batch", FleetTask("/r", request, key="1"), "a" * 40, verdict, "/t", "", "", 1)


def report(text: str) -> dict[str, Any]:
    changes = [{"path": "utils.py", "added": 1, "removed": 2}]
    return {"text": text, "changes": changes, "receipt": {"evidence": encode(EVIDENCE)}, "model": "box/m"}


@pytest.mark.parametrize(
    "text",
    [
        "Thanks @ada and @team/core",
        "Fixes #1, closes owner/project#2, RESOLVED: GH-3",
        "fixed https://forge.example/team/project/issues/4",
        "closing !5 &6 ~bug %2 $7; implements #8",
        "/merge\n  /assign @ada",
    ],
)
def test_words_of_a_model_act_on_nothing(text: str) -> None:
    body = body_of(publication(), report(text))
    assert not ACTING.search(body)
    assert neutral(text).replace("\u200b", "") == text  # and they read the same


def test_a_model_cannot_leave_its_block() -> None:
    body = body_of(publication(), report("a\n```\n<img src=x>\n````\n<script>"))
    outside, inside = [], False
    for line in body.splitlines():
        if line.startswith("`````"):
            inside = not inside
        elif not inside:
            outside.append(line)
    assert not inside and not any("<" in line for line in outside)


def test_hidden_characters_are_shown() -> None:
    assert "\u202e" not in body_of(publication(), report("a\u202eb\x1b[31m"))


def test_the_receipt_names_tests_and_files() -> None:
    body = body_of(publication(), report("Mended."))
    for each in ("test_mean", "utils.py  +1 -2", "Mended.", "mend mean", "aaaaaaaaaaaa", "`box/m`"):
        assert each in body


def test_a_title_is_one_line_and_says_when_nothing_supports_it() -> None:
    assert title_of(publication("mend mean\nand more")) == "mend mean"
    assert title_of(publication(verdict="unproven")).startswith("Unproven: ")
    assert len(title_of(publication("x" * 1000, "unproven"))) <= 220


def test_long_words_are_cut() -> None:
    assert len(body_of(publication("r" * 100_000), report("w" * 100_000))) < 65_536  # GitHub takes no more
