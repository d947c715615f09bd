"""The models that another program may name, in the order in which a person sees them."""

from dataclasses import dataclass

from kith.agent.models import list_all
from kith.memory.log import Log
from kith.settings import Settings
from kith.settings.values import ROUTE


@dataclass(frozen=True, slots=True)
class Offered:
    """A model by the name that a request gives; `window` in tokens, 0 where nobody says."""

    name: str
    owner: str
    window: int = 0


async def list_offered(chosen: Settings, log: Log) -> tuple[Offered, ...]:
    """kith's own choice first, then every model that can be asked."""
    listed = await list_all(chosen, log)
    found = (Offered(row.name, row.source, row.window) for row in listed.rows)
    return (Offered(ROUTE, "kith"), *found)
