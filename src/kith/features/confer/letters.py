"""What the members of a council are told, in the words of each round."""

from collections.abc import Mapping, Sequence

from kith.core.decisions import Claimed
from kith.features.confer.council import Proposal
from kith.features.confer.replies import describe_proposal

_PROPOSE = """\
{facts}

# Propose
Propose how to do this, or answer it. Lines:
approach: what to do and where, or the answer and its reason; at most 120 words
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
then, if you accept any: approach, answer, files, symbols, risks, probe, ends, confidence as before"""
_JUDGE = """\
{facts}

# Proposals

{proposals}

# What was said against them

{claims}

Which should be followed?"""


def to_propose(facts: str) -> str:
    """The first letter: the same for everybody."""
    return _PROPOSE.format(facts=facts)


def to_criticise(others: Mapping[str, Proposal]) -> str:
    """The second letter, with the proposals of the others under their labels."""
    return _CRITICISE.format(others=_proposals(others), label=min(others))


def to_revise(claims: Sequence[Claimed]) -> str:
    """The third letter, with those claims only that hold."""
    rows = (f"{each.id}: {each.text}\n  {each.evidence}\n  checked: {each.why}" for each in claims)
    return _REVISE.format(claims="\n".join(rows))


def to_judge(facts: str, proposals: Mapping[str, Proposal], claims: Sequence[Claimed]) -> str:
    """The letter to the judge: proposals, and each claim with what its check said."""
    rows = [f"against {each.of}: {each.text} ({each.check}: {each.why})" for each in claims]
    return _JUDGE.format(facts=facts, proposals=_proposals(proposals), claims="\n".join(rows) or "Nothing.")


def _proposals(proposals: Mapping[str, Proposal]) -> str:
    return "\n\n".join(
        f"Proposal {label}\n{describe_proposal(proposals[label])}" for label in sorted(proposals)
    )
