"""A model made of models, as a role may have it: several answer, criticise, and one reply comes out."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.roles import Player, RoleSpec
from kith.context.budget import fit_middle
from kith.core.decisions import council_thread
from kith.core.errors import KithError
from kith.core.events import Event, Notice, Stepped
from kith.core.model import Billed, Emit, Model, Prompt, Role, Tab
from kith.core.policy import READ_ONLY
from kith.core.run import Run, Thread, new_id
from kith.core.values import Message, Reply, Text, say
from kith.features.confer import ConferSettings
from kith.features.confer.checks import Check, Checked, check_objection, check_quote, unchecked
from kith.features.confer.council_rules import (
    Proposal,
    Revision,
    Seat,
    agree,
    cheapest,
    holding,
    objections,
    take_revision,
)
from kith.features.confer.debate import By, CouncilDecision, conclude, criticise, open_minutes, ranking
from kith.features.confer.history import ENOUGH, Payoff, read_others, read_results, results_of, weigh
from kith.features.confer.members import (
    AUTHOR,
    Agenda,
    Council,
    Ledger,
    Member,
    draw_labels,
    hold_round,
    name_at,
    tell_apart,
)
from kith.features.confer.messages import Objection
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.rows import LegRow
from kith.features.route.estimates import expected, fold, sorts_of, who
from kith.models.stack import Opened
from kith.models.traits import billions

_SHOWN: Final = 0.25  # of a council's tokens, the part that each member may read of the conversation
_CHARS: Final = 3  # of code, for one token
# The lookbehinds let a path begin in one place only: tried at each character, a run takes quadratic time.
_PATH: Final = re.compile(r"(?<![\w.-])(?<![\w.-]/)[\w.-]+(?:/[\w.-]+)*\.[A-Za-z]\w{0,4}\b")
_ANSWERED: Final = re.compile(r"^\s*\**(accept|reject)\**\b.*$", re.I)
_ID: Final = re.compile(r"\bc\d+\b")
_REVISE: Final = """\
These claims against your answer were checked, and hold:

{claims}

Begin with a line `accept: ids` or `reject: ids`, or both. If you accept any, give your whole answer again
below, in the form in which you were first asked for it, changed as little as they need."""


class Panelist(Struct, frozen=True):
    """One of the models: where it runs, and how often its work was good so far (0 to 1)."""

    model: Model
    server: str
    slots: int = 1
    cloud: bool = False
    ability: float = 0.5
    host: str = ""  # as a Member's

    @property
    def name(self) -> str:
        return name_at(self.model.name, self.host)


class Panel(Struct, frozen=True):
    """Several models that answer as one. The first reads with the tools there are, and opens.

    Only what it says at the end of its turn is conferred about: the others see what it was shown, and not who
    it is. `tokens` is for one answer; `check` looks at claims (None: only quotes of what was shown count).
    """

    panelists: Sequence[Panelist]
    run: Run
    tokens: int
    check: Check | None = None

    @property
    def name(self) -> str:
        return " + ".join(each.name for each in self.panelists)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """The first model's reply while it still reads, else what the panel makes of it.

        Raises what the models raise, if all of them do.
        """
        with Tab() as tab:
            reply = await self._answer(self._begin(prompt, tab), prompt, emit)
            return replace(reply, bill=tab.bill)

    async def _answer(self, council: Council, prompt: Prompt, emit: Emit) -> Reply:
        run = self._inside(emit)
        lead, reply = await self._open(run, council, prompt)
        if reply.message.calls or reply.stop == "length" or not reply.message.text.strip():
            return reply
        open_minutes(run, council)
        texts = {lead: reply.message.text}
        _hold_words(run, council, lead, reply)
        await self._hear_others(run, council, texts)
        choice = await self._confer(run, council, texts, lead)
        author = council.members[choice].name
        return replace(reply, message=Message("assistant", (Text(texts[choice]),), author), stop="end")

    def _begin(self, prompt: Prompt, tab: Tab) -> Council:
        ledger, members = Ledger(self.tokens), {}
        for label, each in zip(draw_labels(len(self.panelists)), self.panelists, strict=True):
            model = Billed(each.model, tab.add)
            role = Role("panelist", prompt.system, model, (), READ_ONLY, prompt.purpose, prompt.sampling)
            seat = Seat(label, each.server, each.slots)
            members[label] = Member(seat, ledger.bill(label, role), each.cloud, each.ability, each.host)
        shown = fit_middle(_as_text(prompt.messages), int(self.tokens * _SHOWN) * _CHARS)
        question = next((each.text for each in prompt.messages if each.role == "user"), "")
        return Council(new_id(), prompt.purpose, question, shown, members, ledger)

    def _inside(self, emit: Emit) -> Run:
        """The run of this call. Its steps stay among themselves: outside they would pass for the caller's."""

        def sink(event: Event, path: tuple[str, ...]) -> None:
            if not isinstance(event, Stepped):
                emit(event)

        return replace(self.run, sink=sink)

    async def _open(self, run: Run, council: Council, prompt: Prompt) -> tuple[str, Reply]:
        """The first reply, of the first that answers."""
        failure: KithError | None = None
        for label, member in council.members.items():
            try:
                return label, await member.role.model(prompt, run.emit)
            except KithError as error:
                failure = failure or error
                council.silent[label] = str(error)
                run.emit(Notice(f"{member.name} drops out of the panel: {error}", "warning"))
        raise failure or KithError("A panel needs models.")

    async def _hear_others(self, run: Run, council: Council, texts: dict[str, str]) -> None:
        async def take(label: str, words: str) -> None:
            texts[label] = words
            council.proposals[label] = _as_proposal(words)

        letters = {label: council.facts for label in council.members if label not in texts}
        await hold_round(run, council, Agenda("propose", letters, _any_words, take))

    async def _confer(self, run: Run, council: Council, texts: dict[str, str], lead: str) -> str:
        """Choose an answer; `texts` has each in its author's latest version."""
        if len(texts) == 1:
            return lead
        if agree(list(council.proposals.values())):
            choice = cheapest({label: council.ledger.cost(label) for label in texts})
            conclude(run, council, CouncilDecision(choice, "agreement", "they agree", (choice,)))
            return choice
        await criticise(run, council, self.check or _quotes_of(council.facts))
        await _revise(run, council, texts)
        order = sorted(ranking(council), key=lambda label: _standing(council, label, lead))
        by: By = "limit"
        why = "nothing that was said against any of them holds"
        if any(each.check == "confirmed" for each in council.claims):
            by, why = "evidence", "the least that holds was said against it"
        conclude(run, council, CouncilDecision(order[0], by, why, tuple(order)))
        return order[0]


def _standing(council: Council, label: str, lead: str) -> tuple[int, float, bool]:
    against = objections(council.claims)[label]
    return against, -council.members[label].ability, label != lead


async def _revise(run: Run, council: Council, texts: dict[str, str]) -> None:
    """Authors whose answer a claim touches that holds, and nobody else, may answer once more."""

    async def take(label: str, answer: tuple[Revision, str]) -> None:
        revision, rest = answer
        against = [each for each in council.claims if each.of == label]
        plan, accepted = take_revision(council.proposals[label], revision, against)
        if accepted:
            council.proposals[label], texts[label] = plan, rest
            council.revised.append(label)

    letters = {}
    for label in sorted(texts):
        if held := holding(council.claims, label):
            rows = "\n".join(f"{each.id}: {each.text} ({each.why})" for each in held)
            letters[label] = _REVISE.format(claims=rows)
    await hold_round(run, council, Agenda("revise", letters, _read_revision, take))


def _read_revision(words: str) -> tuple[tuple[Revision, str] | None, str]:
    """Parse accepted and rejected ids in the first lines, and the answer below them."""
    lines = words.strip().split("\n")
    head = 0
    while head < len(lines) and (_ANSWERED.match(lines[head]) or not lines[head].strip()):
        head += 1
    given = {"accept": set[str](), "reject": set[str]()}
    for line in lines[:head]:
        if found := _ANSWERED.match(line):
            given[found[1].lower()].update(_ID.findall(line))
    if not any(given.values()):
        return None, "Your reply does not begin with `accept:` or `reject:` and the ids of claims."
    rest = "\n".join(lines[head:]).strip()
    proposal = _as_proposal(rest) if rest else None
    return (Revision(tuple(sorted(given["accept"])), tuple(sorted(given["reject"])), proposal), rest), ""


def _hold_words(run: Run, council: Council, label: str, reply: Reply) -> None:
    """Put the opening into the opener's thread, after the text shown to everybody."""
    thread = Thread(council_thread(council.id, label), (say(council.facts, AUTHOR),))
    council.threads[label] = thread
    thread.add(run, replace(reply.message, author=council.members[label].name))
    council.proposals[label] = _as_proposal(reply.message.text)


def _as_proposal(words: str) -> Proposal:
    return Proposal(fit_middle(words, 3_000), find_paths(words))


def find_paths(words: str) -> tuple[str, ...]:
    """The files that an answer names, each once."""
    return tuple(dict.fromkeys(_PATH.findall(words)))


def _any_words(words: str) -> tuple[str | None, str]:
    return (words, "") if words.strip() else (None, "Your reply is empty.")


def _as_text(messages: Sequence[Message]) -> str:
    """A conversation as one message: the model's input and tool results, without its own replies."""
    read = ("\n\n".join(result.text for result in each.results) for each in messages)
    told = (each.text if each.role == "user" else "" for each in messages)
    parts = [part for pair in zip(told, read, strict=True) for part in pair]
    return "\n\n".join(part for part in parts if part.strip())


def _quotes_of(shown: str) -> Check:
    """A check of quotes against the text shown to everybody."""

    async def check(objection: Objection) -> Checked:
        if objection.command:
            return unchecked("nothing is run for this role")
        return check_quote(objection.quote, shown.split("\n"), "what was shown", 0)

    return check


# What a council needs from the house: who is how able, whether councils pay here, and a role that is
# one.


def measured_legs(project: Project) -> tuple[LegRow, ...]:
    """Read the measured tasks of each model."""
    return read_measured(project.log, cache=project.settings.cache).legs


def ability_of(legs: Sequence[LegRow], opened: Opened, kind: str) -> float:
    """The chance that a model's work of this kind is good, by what was measured and by its size (0 to 1)."""
    facts = opened.facts
    prior = expected(kind, billions(facts.parameters or facts.name), frontier=facts.cloud)
    return fold(legs).chance(who(facts.name, facts.digest), "first", sorts_of(kind), prior).mean


def weigh_councils(project: Project, kind: str) -> Payoff:
    """Judge if councils pay for this kind of work here, by all results with and without them."""
    results, sessions = read_results(project.log)
    if sum(each.kind == kind for each in results) < ENOUGH:
        return Payoff(kind, len(results), 0)
    others = [*results_of(measured_legs(project), sessions), *read_others(project.log, kind, sessions)]
    return weigh(kind, results, others)


class RolePanels(Struct, frozen=True):
    """The panels of one session; `paying` tells by purpose whether they are worth it."""

    terms: Terms
    paying: dict[str, bool] = field(default_factory=dict)

    def members(self, spec: RoleSpec) -> tuple[str, ...]:
        """The panel of a role, or only its first model where councils are known not to pay."""
        if spec.purpose not in self.paying:
            payoff = weigh_councils(self.terms.project, spec.purpose)
            self.paying[spec.purpose] = payoff.pays
            if not payoff.pays:
                self.terms.run.emit(Notice(f"{payoff.why} The {spec.name} answers alone.", "warning"))
        return spec.panel if self.paying[spec.purpose] else spec.panel[:1]

    def seat(self, seats: Sequence[tuple[Opened, Player]]) -> Player:
        """The role, played by all of them; none looks at what is kept from one of them."""
        run = self.terms.hide(self.terms.run, *(opened for opened, _ in seats))
        return seat_panel(self.terms.project, run, seats)


def seat_panel(project: Project, run: Run, seats: Sequence[tuple[Opened, Player]]) -> Player:
    """The role, played by all of them: the first reads and opens, and one reply comes out.

    Where the role plans, its members' commands are tried on the tree; for any other only quotes count.
    """
    player = seats[0][1]
    kind, legs = player.role.purpose, measured_legs(project)
    panelists = [
        Panelist(
            each.role.model,
            opened.facts.server or opened.facts.name,
            opened.facts.slots,
            opened.facts.cloud,
            ability_of(legs, opened, kind),
            host,
        )
        for (opened, each), host in zip(seats, tell_apart([opened for opened, _ in seats]), strict=True)
    ]
    check = partial(check_objection, run) if kind == "plan" else None
    panel = Panel(panelists, run, project.settings.section(ConferSettings).tokens, check)
    run.emit(Notice(f"The {player.role.name} is a panel: {', '.join(each.name for each in panelists)}."))
    windows = [each.window for _, each in seats if each.window]
    small = any(each.small for _, each in seats)
    return Player(replace(player.role, model=panel), min(windows, default=0), small)
