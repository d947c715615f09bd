"""Write the messages of each round to members of a council, and parse their answers."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.context.budget import estimate_tokens, fit_middle
from kith.core.decisions import Claimed
from kith.features.confer.council_rules import MOST_CLAIMS, Proposal, Revision
from kith.models.dialects.json_text import load_json

# Lines of the form `key: value`, as members of a council write them, read as forgivingly as is safe.

Fields = Sequence[tuple[str, str]]

_ADDRESSED: Final = ("claim", "text")  # keys behind which a word says whom it is about
_LINE: Final = re.compile(r"^[\s>*#-]*([A-Za-z]\w*)((?: +[A-Za-z0-9]{1,3})?)[*`]*\s*:[*`]*\s*(.*)$")


def read_fields(words: str, keys: Collection[str]) -> Fields:
    """The (key, value) pairs of a reply in their order; a value may go on over several lines.

    A word behind the key (`claim B: ...`) becomes a pair of its own before it: ("of", "B"). Models that write
    JSON all the same are understood too.
    """
    fields: list[tuple[str, str]] = []
    for line in words.splitlines():
        found = _LINE.match(line)
        if found and found[1].lower() in keys:
            key, word, value = found[1].lower(), found[2].strip(), found[3].strip()
            if word and key in _ADDRESSED:
                fields.append(("of", word))
            elif word:
                value = f"{word} {value}".strip()
            fields.append((key, value))
        elif fields and line.strip() and not line.strip().startswith("```"):
            key, value = fields[-1]
            fields[-1] = (key, f"{value}\n{line.strip()}".strip())
    return [(key, _plain(value)) for key, value in fields] or list(_from_json(words, keys))


def _plain(value: str) -> str:
    """A value without the quotes or backticks around all of it."""
    for sign in ("`", '"'):
        if len(value) > 1 and value[0] == value[-1] == sign and sign not in value[1:-1]:
            return value[1:-1]
    return value


def _from_json(words: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    data = load_json(words) if "{" in words else None
    for each in _objects(data):
        for key, value in each.items():
            if str(key).lower() in keys:
                yield str(key).lower(), _as_text(value)


def _objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """The object itself, then those in its lists (claims)."""
    if isinstance(data, Mapping):
        yield {key: value for key, value in data.items() if not _holds_objects(value)}
        for value in data.values():
            if _holds_objects(value):
                yield from _objects(value)
    elif isinstance(data, list):
        for each in data:
            yield from _objects(each)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Mapping) for each in value)


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def names_in(value: str) -> tuple[str, ...]:
    """The names of a list that is written with commas, blanks or line breaks between them, each once."""
    names = (name.strip("`'\"*()[]").removeprefix("./") for name in re.split(r"[\s,;]+", value))
    none = ("", "-", "none", "None", "n/a")
    return tuple(dict.fromkeys(name for name in names if name not in none))


# By the cautious estimate; about 250 of a model's own tokens.
LONGEST: Final = 330
_PROPOSAL: Final = (
    *("approach", "design", "rejects", "answer", "files", "symbols", "risks", "probe", "ends", "confidence"),
)
_CLAIM: Final = ("claim", "text", "of", "at", "place", "quote", "run", "command", "ends", "shows")
_REVISION: Final = ("accept", "reject", *_PROPOSAL)
_MOST: Final = 12  # files, symbols
_LEAST: Final = 120  # characters of an approach that are kept in any case
_DIFF: Final = 4_000  # characters of each change, and of the facts, before a test is written
_NONE: Final = ("", "none", "n/a", "nothing")
_ID: Final = re.compile(r"\bc\d+\b")
_NEARLY: Final = 10.0  # a confidence above 1 is a mark of ten, or of a hundred


class Objection(Struct, frozen=True):
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


class JudgeChoice(Struct, frozen=True):
    """The proposal that a judge would follow, and the reason."""

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
            _list(given.get("design", "")),
            _list(given.get("rejects", "")),
        )
    )


def _fit(proposal: Proposal) -> Proposal:
    """The proposal in its room: risks go first, then the middle of the approach."""
    if estimate_tokens(describe_proposal(proposal)) > LONGEST:
        proposal = replace(proposal, risks=(), answer=proposal.answer[:40])
    if estimate_tokens(describe_proposal(proposal)) > LONGEST:
        proposal = replace(proposal, design=proposal.design[:3], rejects=proposal.rejects[:3])
    room = len(proposal.approach)
    while room > _LEAST and (over := estimate_tokens(describe_proposal(proposal)) - LONGEST) > 0:
        room = max(_LEAST, min(room, len(proposal.approach)) - 4 * over)
        proposal = replace(proposal, approach=fit_middle(proposal.approach, room).replace("\n", " "))
    return proposal


def _list(value: str) -> tuple[str, ...]:
    """The items between semicolons or line ends, or commas that are outside parentheses."""
    items = (item.strip(" -`.*") for item in re.split(r"[;\n]|,(?![^(]*\))", value))
    return tuple(dict.fromkeys(item[:80] for item in items if item.lower() not in _NONE))[:_MOST]


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
        ("design", "; ".join(proposal.design)),
        ("rejects", "; ".join(proposal.rejects)),
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
    """Parse an author's reply to the claims `ids`, with its new plan if any; or the fault."""
    fields = read_fields(words, _REVISION)
    given = {key: set(_ID.findall(value)) for key, value in fields if key in ("accept", "reject")}
    if not given:
        return None, "There is neither `accept:` nor `reject:`, each with the ids of claims."
    accepted = tuple(id for id in ids if id in given.get("accept", ()))
    rejected = tuple(id for id in ids if id in given.get("reject", ()) and id not in accepted)
    return Revision(accepted, rejected, _proposal(fields)), ""


def read_choice(words: str, labels: Collection[str]) -> tuple[JudgeChoice | None, str]:
    """A judge's choice among `labels`; or what is wrong with it."""
    given = dict(reversed(read_fields(words, ("choice", "why"))))
    found = re.search(r"\b[A-Z]\b", given.get("choice", "").upper())
    if found is None or found[0] not in labels:
        return None, f"`choice:` must be one of {', '.join(sorted(labels))}."
    return JudgeChoice(found[0], " ".join(given.get("why", "").split())), ""


# What the members of a council are told, in the words of each round.

_PROPOSE = """\
{facts}

# Propose
Propose how to do this, or answer it. Lines:
approach: what to do and where, or the answer and its reason; at most 120 words
design: signatures, algorithms and data structures that it uses; short names, separated by semicolons
rejects: alternatives that you decided against; short names, separated by semicolons
answer: the answer in one or two words (leave out for a plan)
files: the files to change (or, for an answer, those it rests on)
symbols: the functions or classes to change
risks: what may go wrong
probe: one shell command that only reads and tells right from wrong, such as one test
ends: passes or fails, as the probe ends now, before anything is changed
confidence: 0 to 1"""
_CRITICISE = """\
Somebody else proposes:

{others}

Find what is wrong there. At most 3 claims, each with evidence that a tool will check:
claim {label}: what is wrong, in a sentence
at: path:line
quote: that line, copied exactly
or, instead of at and quote:
claim {label}: what is wrong, in a sentence
run: a shell command on files or tests of this project that only reads
ends: passes or fails
shows: words of its output that prove it
A claim without evidence counts for nothing. Nothing wrong: claim: none"""
_REVISE = """\
These claims against your proposal were checked, and hold:

{claims}

Decide on each. If you accept any, write the whole proposal again, changed as little as they need. Lines:
accept: ids
reject: ids, and why
then, if you accept any, all lines of a proposal as before"""
_COMPARE = """\
# Compare
1: {one}
2: {other}

Would both lead to the same design: the same algorithm, data structures and interface?
Answer with one word: same or different."""
_DISCRIMINATE = """\
{facts}

# Two changes
Both pass the project's checks.

{changes}

Write one test that passes with the change that is right for the task, and fails with the other. Lines:
file: path of a new file of the project
run: the shell command that runs this file
then the whole file, as a code block"""
_JUDGE = """\
{facts}

# Proposals

{proposals}

# What was said against them

{claims}

Which should be followed?"""


def to_propose(facts: str) -> str:
    """The first message: the same for all members."""
    return _PROPOSE.format(facts=facts)


def to_criticise(others: Mapping[str, Proposal]) -> str:
    """The second message, with the proposals of the others under their labels."""
    return _CRITICISE.format(others=_proposals(others), label=min(others))


def to_revise(claims: Sequence[Claimed]) -> str:
    """The third message, with the confirmed claims only."""
    rows = (f"{each.id}: {each.text}\n  {each.evidence}\n  checked: {each.why}" for each in claims)
    return _REVISE.format(claims="\n".join(rows))


def to_judge(facts: str, proposals: Mapping[str, Proposal], claims: Sequence[Claimed]) -> str:
    """The message to the judge: proposals, and each claim with what its check said."""
    rows = [f"against {each.of}: {each.text} ({each.check}: {each.why})" for each in claims]
    return _JUDGE.format(facts=facts, proposals=_proposals(proposals), claims="\n".join(rows) or "Nothing.")


def to_compare(one: Proposal, other: Proposal) -> str:
    """Ask if two approaches are the same, for one word."""
    return _COMPARE.format(one=one.approach, other=other.approach)


def read_comparison(words: str) -> tuple[Literal["same", "different"] | None, str]:
    """The answer to `to_compare`; or what is wrong with it."""
    found = {word.lower() for word in re.findall(r"\b(same|different)\b", words, re.I)}
    if len(found) != 1:
        return None, "Answer with one word: same or different."
    return ("same" if "same" in found else "different"), ""


class Discriminator(Struct, frozen=True):
    """One test for two changes: a new file, and the command that runs it."""

    path: str
    command: str
    text: str


def to_discriminate(facts: str, diffs: Mapping[str, str]) -> str:
    """Ask for one test that tells two changes apart."""
    parts = (f"Change {label}\n{fit_middle(diff, _DIFF)}" for label, diff in sorted(diffs.items()))
    return _DISCRIMINATE.format(facts=fit_middle(facts, _DIFF), changes="\n\n".join(parts))


def read_discriminator(words: str) -> tuple[Discriminator | None, str]:
    """The test in a reply; or what is wrong with it."""
    head, _, rest = words.partition("```")
    given = dict(reversed(read_fields(head, ("file", "run"))))
    text = rest.partition("\n")[2].partition("```")[0]
    path = next(iter(names_in(given.get("file", ""))), "")
    command = given.get("run", "").strip("`")
    if not path or not command or not text.strip():
        return None, "Send `file:`, `run:`, and then the file as a code block."
    return Discriminator(path, command, text), ""


def _proposals(proposals: Mapping[str, Proposal]) -> str:
    return "\n\n".join(
        f"Proposal {label}\n{describe_proposal(proposals[label])}" for label in sorted(proposals)
    )
