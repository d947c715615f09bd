"""What a council needs from the house: who is how able, whether councils pay here, and a role that is one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kith.agent.asking.cast import Panels
from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.roles import Player, RoleSpec
from kith.core.events import Notice
from kith.core.run import Run
from kith.features.confer.checks import check_objection
from kith.features.confer.panel import Panel, Panelist
from kith.features.confer.payoff import ENOUGH, Payoff, results_of, weigh
from kith.features.confer.remembered import read_others, read_results
from kith.features.confer.settings import ConferSettings
from kith.features.measure.measured import read_measured
from kith.features.measure.rows import LegRow
from kith.features.route.learned import fold, sorts_of, who
from kith.features.route.priors import expected
from kith.models.stack import Opened
from kith.models.traits import billions


def measured_legs(project: Project) -> tuple[LegRow, ...]:
    """What models did before, task by task."""
    return read_measured(project.log, cache=project.settings.cache).legs


def ability_of(legs: Sequence[LegRow], opened: Opened, kind: str) -> float:
    """The chance that a model's work of this kind is good, by what was measured and by its size (0 to 1)."""
    facts = opened.facts
    prior = expected(kind, billions(facts.parameters or facts.name), frontier=facts.cloud)
    return fold(legs).chance(who(facts.name, facts.digest), "first", sorts_of(kind), prior).mean


def weigh_councils(project: Project, kind: str) -> Payoff:
    """Whether councils pay for this kind of work here, by all that was done with and without them."""
    results, sessions = read_results(project.log)
    if sum(each.kind == kind for each in results) < ENOUGH:
        return Payoff(kind, len(results), 0)
    others = [*results_of(measured_legs(project), sessions), *read_others(project.log, kind, sessions)]
    return weigh(kind, results, others)


@dataclass(frozen=True, slots=True)
class RolePanels(Panels):
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
        )
        for opened, each in seats
    ]
    check = partial(check_objection, run) if kind == "plan" else None
    panel = Panel(panelists, run, project.settings.section(ConferSettings).tokens, check)
    run.emit(
        Notice(f"The {player.role.name} is a panel: {', '.join(each.model.name for each in panelists)}.")
    )
    windows = [each.window for _, each in seats if each.window]
    small = any(each.small for _, each in seats)
    return Player(replace(player.role, model=panel), min(windows, default=0), small)
