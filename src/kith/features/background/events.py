"""Events of background processes, for the log and all that shows it."""

from kith.core.events import FeatureEvent
from kith.core.workspace import EndedBy


class JobStarted(FeatureEvent, frozen=True):
    """A process was started in the background of a trial; `number` counts them there."""

    number: int
    command: str


class JobEnded(FeatureEvent, frozen=True):
    """It ended; `limit` describes the limit that it exceeded."""

    number: int
    command: str
    code: int
    seconds: float
    by: EndedBy = "itself"
    limit: str = ""
