"""A probe of the model that is chosen, in a session of its own: what it found stands on the model's card."""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from kith import __version__
from kith.agent.models import end_of, places_of, sources_of
from kith.core.errors import KithError
from kith.core.events import Carded, Notice, RunEnded, RunStarted
from kith.core.run import new_id
from kith.features.measure.probe import probe
from kith.memory.log import Log
from kith.memory.session import Listener, Session
from kith.models.choose import choose_provider
from kith.models.stack import look
from kith.settings import Settings


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe stored: the facts as they stand on the model's card."""

    model: str
    facts: dict[str, Any]


async def probe_model(chosen: Settings, log: Log, listener: Listener) -> Probed:
    """Measure the chosen model and keep the result on its card, in a session of its own. Raises KithError."""
    with Session(log, new_id()) as session:
        session.listeners.append(listener)
        session.emit(RunStarted("probe a model", "", chosen.model, __version__))
        try:
            provider = await choose_provider(
                chosen.model, places_of(chosen), sources_of(chosen), session.emit
            )
            async with aclosing(await look(provider, log.card, chosen.window, session.emit)) as opened:
                session.emit(Notice(f"Probing {opened.facts.name}; that takes a minute at most."))
                result = await probe(session.emit, opened.metered(tells=False), window=opened.window)
        except KithError as error:
            session.emit(end_of(error))
            raise
        name, facts = opened.facts.name, result.facts
        if opened.facts.digest:
            session.emit(Carded(opened.facts.digest, name, facts))
        session.emit(RunEnded("done", f"{name} was probed."))
    return Probed(name, facts)
