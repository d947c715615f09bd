"""A share of what local models solved, shown to the frontier model once more: within consent and money."""

import random
from collections.abc import Awaitable, Callable

from kith.app.asking.relay import Relay
from kith.app.asking.terms import Terms
from kith.core.errors import ModelError, NoModelError
from kith.core.run import Run
from kith.core.values import Changes, Consent
from kith.models.stack import Opened
from kith.workflows.audit import audit


def auditor(relay: Relay, goal: str, seed: str) -> Callable[[Run, Changes], Awaitable[None]] | None:
    """Who looks once more at what passes the checks; None where this task is none of the share."""
    terms, frontier = relay.terms, relay.choice.frontier
    share = terms.project.settings.route.audit
    if not frontier or not relay.verifiable or random.Random(f"{seed}/audit").random() >= share:
        return None

    async def look(run: Run, changes: Changes) -> None:
        if relay.plan[0] == frontier:  # it would look at its own work
            return
        try:
            opened = relay.opened.get(frontier) or await terms.open(frontier)
        except (ModelError, NoModelError):  # what nobody asked for needs no excuse
            return
        relay.opened[frontier] = opened
        if _may_ask(terms, opened):
            await audit(run, terms.wrap(opened, tells=False), goal, changes)

    return look


def _may_ask(terms: Terms, opened: Opened) -> bool:
    """Whether the person agreed beforehand: an audit is not worth a question."""
    facts = opened.facts
    return opened.door is None or terms.is_agreed(Consent(facts.name, facts.server, "review"))
