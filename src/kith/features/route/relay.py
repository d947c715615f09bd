"""Pass one task from model to model, each opened when its turn comes, and audit some changes that passed."""

import time
from collections.abc import Collection, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.asking.terms import Terms
from kith.agent.judges import Audit
from kith.agent.relay import GivenUp
from kith.context.budget import fit_middle
from kith.core.decisions import Cause, Routed
from kith.core.errors import HopelessError, KithError, LimitError, ModelError, NoModelError
from kith.core.events import Judged, Notice
from kith.core.model import Model, Prompt, Role
from kith.core.run import Run
from kith.core.values import Changes, Consent, Outage, Sampling, say
from kith.edits import summarise
from kith.features.route.beliefs import Task
from kith.features.route.choose import ModelChoice, decide, describe_task, habits_of, look_around
from kith.features.route.early_stopping import Hopeful
from kith.models.stack import Opened

# A change that the checks let pass, looked at once more, so that it is known how often they are wrong.

GATE: Final = "audit"
_DIFF: Final = 9_000  # characters
_SYSTEM: Final = (
    "You are shown a task and a change that was made for it; its tests pass. Say whether the change does "
    'what the task asks, for every input. Answer with one JSON object: {"solved": true or false, '
    '"why": "..."}; why: one sentence, with an input for which it goes wrong if there is one.'
)
_SHAPE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"solved": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["solved", "why"],
}


async def audit(run: Run, model: Model, goal: str, changes: Changes) -> None:
    """Have in the log what `model` says of a change. It decides nothing: the person sees it with the diff."""
    diff = fit_middle("".join(file.diff for file in summarise(changes)), _DIFF)
    words = say(f"# Task\n{goal}\n\n# Change\n{diff}", GATE)
    sampling = Sampling(max_tokens=500)
    prompt = Prompt(_SYSTEM, (words,), purpose="judge", sampling=sampling, shape=_SHAPE)
    try:
        reply = await model(prompt, run.emit)
    except (LimitError, ModelError, NoModelError) as error:
        run.emit(Notice(f"The change was not audited: {error}"))
        return
    said = _read(reply.message.text)
    if said is not None:
        # Attempt 0: no try of the model that wrote it, so nothing is sent back.
        run.emit(Judged(GATE, said["solved"], 0, "" if said["solved"] else str(said.get("why", ""))))


def _read(text: str) -> dict[str, Any] | None:
    """The answer's object; None where it holds none."""
    import json_repair

    found = json_repair.loads(text[text.find("{") :]) if "{" in text else None
    return found if isinstance(found, dict) and isinstance(found.get("solved"), bool) else None


# What keeps a model from being asked at all, or for good; another one may be there.
_ABSENT = (ModelError, NoModelError)


class Relay(Struct):
    """A route that follows a plan, by what was measured.

    `plan` is what is left of it: its first model works on the task now. `run`: where its decisions are told.
    `asked` are the models that had their turn, `opened` those that this process knows. `handovers`: how often
    another one took over.
    """

    terms: Terms
    run: Run
    choice: ModelChoice = field(default_factory=ModelChoice)
    opened: dict[str, Opened] = field(default_factory=dict)
    plan: tuple[str, ...] = ()
    kind: str = ""
    asked: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    handovers: int = 0
    seed: str = ""
    task: Task = Task("")

    async def begin(self, words: str, routes: Sequence[Routed], seed: str) -> Opened:
        """The model to begin a task in these words with, of all that there are; see `set_out`."""
        project = self.terms.project
        self.choice = await look_around(project, self.run.emit)
        return await self.set_out(await describe_task(project, self.run, words), routes, seed)

    async def set_out(self, task: Task, routes: Sequence[Routed], seed: str) -> Opened:
        """The model to begin with; where `routes` hold a decision, the one to continue with.

        Raises what keeps the last model away when there is none that could be asked.
        """
        self.task, self.seed = task, seed
        if routes:
            self.asked |= {each.plan[0] for each in routes}
            self.handovers = sum(bool(each.after) for each in routes)
            return await self._go_on(routes[-1])
        routed, opened = await self._decide()
        self.run.emit(routed)
        return opened

    async def follow(self, given_up: GivenUp) -> Opened | None:
        """The model that takes over, told of in the log; None when nobody is left, or nothing to spend.

        Where the one before cannot be reached any more, what is left to do is decided again.
        """
        if isinstance(given_up.error, LimitError) and self.terms.account.is_spent:
            return None
        anew: Routed | None = None
        try:
            if isinstance(given_up.error, _ABSENT):
                self.down.add(self.plan[0])
                anew, opened = await self._decide(self.asked)
            else:
                self.plan = self.plan[1:]
                opened = await self._open_next()
        except _ABSENT:
            return None
        self._hand_over(given_up.by, _why(given_up), _cause(given_up), anew)
        return opened

    @property
    def more(self) -> bool:
        """True if another model could take over from the present one."""
        return bool(self.plan[1:] or self._spare())

    def watch(self, role: Role) -> Role:
        """The role, stopped when the model that works now is in vain and another one could take over."""
        if not self.more:
            return role
        opened = self.opened[self.plan[0]]
        habits = habits_of(self.terms.project, self.choice, self.plan, self.kind, opened, self.seed)
        return replace(role, model=Hopeful(role.model, habits, role.purpose))

    def audit(self, goal: str, seed: str) -> Audit | None:
        """The frontier model, for a share of what the others solve; None for all else."""
        share = self.terms.project.settings.route.audit
        if not self.choice.frontier or not self.task.verifiable or Random(f"{seed}/audit").random() >= share:
            return None
        return partial(self._look_again, goal)

    async def _look_again(self, goal: str, run: Run, changes: Changes) -> None:
        """Within consent and money: what nobody asked for is worth no question and needs no excuse."""
        frontier = self.choice.frontier
        if self.plan[0] == frontier:  # it would look at its own work
            return
        try:
            opened = self.opened.get(frontier) or await self.terms.open(frontier)
        except _ABSENT:
            return
        self.opened[frontier] = opened
        facts = opened.facts
        if not opened.facts.cloud or self.terms.is_agreed(Consent(facts.name, facts.server, "review")):
            await audit(run, self.terms.wrap(opened, tells=False), goal, changes)

    # --- who is there ------------------------------------------------------------------------

    async def _go_on(self, routed: Routed) -> Opened:
        """The model that had the task when the session was interrupted; the next one, where it is gone."""
        self.plan, self.kind = routed.plan, routed.kind
        opened = await self._open_next()
        if self.plan[0] != routed.plan[0]:
            self._hand_over(routed.plan[0], "it cannot be asked any more", "absent")
        return opened

    def _hand_over(self, after: str, why: str, cause: Cause, anew: Routed | None = None) -> None:
        self.handovers += 1
        routed = anew or Routed(self.kind, self.plan, "")
        self.run.emit(replace(routed, plan=self.plan, why=why, by="rule", after=after, cause=cause))

    async def _decide(self, asked: Collection[str] = ()) -> tuple[Routed, Opened]:
        """The plan for the task among the models that are up and were not `asked`, and its first model.

        A model that cannot be reached is left out, and the rest is decided again. Raises what keeps the last
        one away.
        """
        outages: list[Outage] = []
        why: KithError = NoModelError("There is no model to ask.")
        while (choice := self.choice.without({*asked, *self.down})).arms:
            routed = await decide(self.terms.project, self.run, self.task, choice, self.seed)
            self.plan, self.kind, began = routed.plan, routed.kind, time.monotonic()
            try:
                opened = await self._open_first()
            except _ABSENT as error:
                why = error
                outages.append(_outage(routed, time.monotonic() - began, error))
                self._leave_out(error)
            else:
                return replace(routed, down=tuple(outages)), opened
        if outages:  # nobody takes over; that they are down is evidence all the same
            self.run.emit(Routed(self.kind, (), "nobody can be reached", by="rule", down=tuple(outages)))
        raise why

    async def _open_next(self) -> Opened:
        """The first model of the plan that can be asked: the plan begins with it from now on.

        Where all of a decision's models are down, the others are tried. Raises what keeps the last one away.
        """
        why: KithError = NoModelError("There is no model to ask.")
        while plan := self.plan or self._spare():
            self.plan = plan
            try:
                return await self._open_first()
            except _ABSENT as error:
                why = error
                self._leave_out(error)
                self.plan = plan[1:]
        raise why

    async def _open_first(self) -> Opened:
        name = self.plan[0]
        if name not in self.opened:
            self.opened[name] = await self._open(name)
        self.asked.add(name)
        return self.opened[name]

    def _leave_out(self, error: KithError) -> None:
        self.run.emit(Notice(f"{self.plan[0]} is left out: {_sentence(str(error))}", "warning"))
        self.down.add(self.plan[0])

    async def _open(self, name: str) -> Opened:
        """The model called so; one that nobody has named is said."""
        opened, chosen = await self.terms.open(name), self.terms.project.settings.route
        if name not in (*chosen.local, chosen.frontier):
            window = f", window {opened.window:,}" if opened.window else ""
            self.run.emit(Notice(f"Asking {opened.facts.name}{window}.", topic="model"))
        return opened

    def _spare(self) -> tuple[str, ...]:
        """Return replacements outside the plan, while no answering model had its turn."""
        return (
            ()
            if self.asked - self.down
            else tuple(name for name in self.choice.arms if name not in self.down)
        )


def _outage(routed: Routed, seconds: float, error: KithError) -> Outage:
    row = next((row for row in routed.table if tuple(row["plan"]) == routed.plan), {})
    figures = float(row.get("usd", 0.0)), float(row.get("seconds", 0.0))
    return Outage(routed.plan[0], round(seconds, 1), str(error), *figures)


def _why(given_up: GivenUp) -> str:
    """Explain why a model gave up, for the person and the next model."""
    return f"it failed: {given_up.why}" if isinstance(given_up.error, ModelError) else given_up.why


def _cause(given_up: GivenUp) -> Cause:
    if isinstance(given_up.error, HopelessError):
        return "hopeless"
    return "failed" if isinstance(given_up.error, ModelError) else ""


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?")) else f"{words}."
