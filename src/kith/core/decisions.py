"""Decisions about models, as events: who is asked, who helps whom, which way of asking holds."""

from typing import Any, Final, Literal

from msgspec import Struct, field

from kith.core.values import Outage, Usage

Cause = Literal["", "hopeless", "failed", "absent"]


class Routed(Struct, frozen=True):
    """The models that a piece of work goes to, one after the other, and the reason.

    Each is asked when the one before it did not solve it. `after` is the model that has just given up ("" at
    the beginning), and the plan what is left. `propensity`: how likely this choice was, 1.0 where it was no
    choice. `table`: the figures behind it, a row for each plan that was weighed. `cause`: why the one before
    gave up, where it did not just fail the checks: it was stopped, its server failed, or is not there.
    `down`: models that could not be asked before this was decided.
    """

    kind: str
    plan: tuple[str, ...]
    why: str
    by: Literal["router", "person", "rule"] = "router"
    after: str = ""
    propensity: float = 1.0
    table: tuple[dict[str, Any], ...] = ()
    cause: Cause = ""
    down: tuple[Outage, ...] = ()


class Delegated(Struct, frozen=True):
    """A model gave a piece of work to another one, which came back; `verified` says who looked at it.

    `tokens`: of its text, by estimate. `expected_s`: the seconds that were predicted, 0.0 for none.
    """

    by: str
    to: str
    task: str
    ok: bool
    verified: str = ""
    usage: Usage = Usage()
    usd: float | None = None
    seconds: float = 0.0
    tokens: int = 0
    expected_s: float = 0.0


class Coached(Struct, frozen=True):
    """A way to ask a model for one kind of work was proposed, tried, adopted or given up.

    `strategy` is the way itself as plain data with its "id"; the last state told of an id holds. `digest`
    names the model's weights, `author` who proposed it.
    """

    digest: str
    model: str
    kind: str
    strategy: dict[str, Any]
    state: Literal["proposed", "refused", "canary", "adopted", "undone"]
    why: str = ""
    author: str = ""
    figures: dict[str, float] = field(default_factory=dict)


class Compared(Struct, frozen=True):
    """A task was done in the present way and in another (`strategy`): which solved it, and in what time."""

    strategy: str
    task: str
    before: bool
    after: bool
    before_s: float = 0.0
    after_s: float = 0.0
    live: bool = False


class Convened(Struct, frozen=True):
    """A council begins: what is asked, and who answers it. `members`: label -> model."""

    council: str
    kind: str
    question: str
    members: dict[str, str]


class Claimed(Struct, frozen=True):
    """One member of a council said something against another's proposal, and a tool looked whether it holds.

    `by` and `of` are the labels under which they confer ("A", "B"); `evidence` is a place, an input or a
    command.
    """

    council: str
    id: str
    by: str
    of: str
    text: str
    evidence: str
    check: Literal["confirmed", "refuted", "unchecked"]
    why: str = ""


class Concluded(Struct, frozen=True):
    """A council is over: whose proposal holds, and what decided it. `members`: label -> model.

    `text` is the proposal itself, and `why` what decided.
    """

    council: str
    kind: str
    choice: str
    by: Literal["tests", "evidence", "agreement", "judge", "limit"]
    text: str
    members: dict[str, str] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    why: str = ""


# How the conversations of a council are called: one for each member, below the council's own name.

_BEGIN: Final = "council/"


def council_thread(council: str, who: str) -> str:
    """The thread of one who speaks in a council."""
    return f"{_BEGIN}{council}/{who}"


def place_of(thread: str) -> tuple[str, str] | None:
    """Return the council of a thread and its speaker; None for any other thread."""
    if not thread.startswith(_BEGIN):
        return None
    council, _, who = thread.removeprefix(_BEGIN).partition("/")
    return council, who
