"""What members of a council answer, as data: proposals, claims, revisions, a judge's choice."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from kith.context.budget import estimate_tokens, fit_middle
from kith.features.confer.council import MOST_CLAIMS, Proposal, Revision
from kith.features.confer.fields import Fields, names_in, read_fields

# By the cautious estimate; about 250 of a model's own tokens.
LONGEST: Final = 330
_PROPOSAL: Final = ("approach", "answer", "files", "symbols", "risks", "probe", "ends", "confidence")
_CLAIM: Final = ("claim", "text", "of", "at", "place", "quote", "run", "command", "ends", "shows")
_REVISION: Final = ("accept", "reject", *_PROPOSAL)
_MOST: Final = 12  # files, symbols
_LEAST: Final = 120  # characters of an approach that are kept in any case
_ID: Final = re.compile(r"\bc\d+\b")
_NEARLY: Final = 10.0  # a confidence above 1 is a mark of ten, or of a hundred


@dataclass(frozen=True, slots=True)
class Objection:
    """A claim against the proposal `of`, with its evidence: a line and its text, or a command and its end.

    `place` is `path:line`. `shows` is a part of the command's output.
    """

    of: str
    text: str
    place: str = ""
    quote: str = ""
    command: str = ""
    ends: Literal["passes", "fails", ""] = ""
    shows: str = ""

    @property
    def evidence(self) -> str:
        """The evidence in one line, "" where there is none."""
        if self.command:
            how = " ".join(filter(None, (self.ends, f"({self.shows})" if self.shows else "")))
            return f"{self.command}  {how}".strip()
        return f"{self.place}  {self.quote}".strip()


@dataclass(frozen=True, slots=True)
class Choice:
    """Which proposal a judge would follow, and why."""

    label: str
    why: str


def read_proposal(words: str) -> tuple[Proposal | None, str]:
    """The proposal in a reply, cut to its size; or what is wrong with it in words for the model."""
    proposal = _proposal(read_fields(words, _PROPOSAL))
    return (proposal, "") if proposal else (None, "No line begins with `approach:`.")


def _proposal(fields: Fields) -> Proposal | None:
    given = dict(reversed(fields))
    if not given.get("approach"):
        return None
    risks = tuple(line.strip("- ") for line in given.get("risks", "").split("\n") if line.strip("- "))
    probe = given.get("probe", "").split("\n")[0].strip("`")
    return _fit(
        Proposal(
            " ".join(given["approach"].split()),
            names_in(given.get("files", ""))[:_MOST],
            names_in(given.get("symbols", ""))[:_MOST],
            risks[:MOST_CLAIMS],
            given.get("answer", "").strip(" .").lower(),
            "" if probe.lower() in ("none", "-") else probe,
            _ends(given.get("ends", "")),
            _share(given.get("confidence", "")),
        )
    )


def _fit(proposal: Proposal) -> Proposal:
    """The proposal in its room: risks go first, then the middle of the approach."""
    if estimate_tokens(describe_proposal(proposal)) > LONGEST:
        proposal = replace(proposal, risks=(), answer=proposal.answer[:40])
    room = len(proposal.approach)
    while room > _LEAST and (over := estimate_tokens(describe_proposal(proposal)) - LONGEST) > 0:
        room = max(_LEAST, min(room, len(proposal.approach)) - 4 * over)
        proposal = replace(proposal, approach=fit_middle(proposal.approach, room).replace("\n", " "))
    return proposal


def _ends(word: str) -> Literal["passes", "fails", ""]:
    lower = word.lower()
    if "fail" in lower or "error" in lower:
        return "fails"
    return "passes" if "pass" in lower or "succe" in lower else ""


def _share(text: str) -> float:
    found = re.search(r"\d+(?:\.\d+)?", text)
    value = float(found[0]) if found else 0.5
    if value > 1:
        value /= _NEARLY if value <= _NEARLY and "%" not in text else 100
    return min(1.0, value)


def describe_proposal(proposal: Proposal) -> str:
    """A proposal as other members are shown it."""
    rows = (
        ("approach", proposal.approach),
        ("answer", proposal.answer),
        ("files", ", ".join(proposal.files)),
        ("symbols", ", ".join(proposal.symbols)),
        ("risks", "; ".join(proposal.risks)),
        ("probe", proposal.probe),
        ("ends", proposal.ends),
    )
    return "\n".join(f"{key}: {value}" for key, value in rows if value)


def read_objections(words: str) -> tuple[tuple[Objection, ...] | None, str]:
    """The claims in a reply, at most three; or what is wrong with it in words for the model."""
    fields = read_fields(words, _CLAIM)
    if not fields and not re.search(r"\b(none|nothing|no claims?)\b|\[\s*\]", words, re.I):
        return None, "No line begins with `claim`; nothing wrong: `claim: none`."
    starts = [at for at, (key, _) in enumerate(fields) if key in ("claim", "text")]
    starts = [at - 1 if at and fields[at - 1][0] == "of" else at for at in starts]
    found = [_objection(fields[at:end]) for at, end in pairwise([*starts, len(fields)])]
    return tuple(each for each in found if each is not None)[:MOST_CLAIMS], ""


def _objection(fields: Fields) -> Objection | None:
    """None for what says nothing."""
    given = dict(reversed(fields))
    text = " ".join((given.get("claim") or given.get("text") or "").split())
    if text.lower().strip(" .") in ("", "none", "nothing", "no"):
        return None
    return Objection(
        given.get("of", "").upper(),
        text[:300],
        (given.get("at") or given.get("place") or "").strip("`"),
        given.get("quote", ""),
        (given.get("run") or given.get("command") or "").strip("`"),
        _ends(given.get("ends", "")),
        given.get("shows", ""),
    )


def read_revision(words: str, ids: Sequence[str]) -> tuple[Revision | None, str]:
    """What an author makes of the claims `ids`, with its plan if it wrote one; or what is wrong."""
    fields = read_fields(words, _REVISION)
    given = {key: set(_ID.findall(value)) for key, value in fields if key in ("accept", "reject")}
    if not given:
        return None, "There is neither `accept:` nor `reject:`, each with the ids of claims."
    accepted = tuple(id for id in ids if id in given.get("accept", ()))
    rejected = tuple(id for id in ids if id in given.get("reject", ()) and id not in accepted)
    return Revision(accepted, rejected, _proposal(fields)), ""


def read_choice(words: str, labels: Collection[str]) -> tuple[Choice | None, str]:
    """A judge's choice among `labels`; or what is wrong with it."""
    given = dict(reversed(read_fields(words, ("choice", "why"))))
    found = re.search(r"\b[A-Z]\b", given.get("choice", "").upper())
    if found is None or found[0] not in labels:
        return None, f"`choice:` must be one of {', '.join(sorted(labels))}."
    return Choice(found[0], " ".join(given.get("why", "").split())), ""
