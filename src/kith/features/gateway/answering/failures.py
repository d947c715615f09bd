"""Why a request was not answered, sorted as its protocol has to tell it."""

from typing import Literal

from kith.core.errors import BusyError, KithError, LimitError, ModelError, NoModelError, UsageError
from kith.features.gateway.answering.answer import UnconsentedError
from kith.models.providers.faults import MissingModelError, UnsupportedError

Failure = Literal["consent", "missing", "overflow", "unable", "limit", "passing", "broken"]


def sort_failure(error: KithError) -> Failure:
    """Whose turn it is: the person's (consent), the asker's (missing to limit), time's, or the server's."""
    match error:
        case UnconsentedError():
            return "consent"
        case NoModelError() | MissingModelError() | UsageError():
            return "missing"
        case ModelError(overflow=True):
            return "overflow"
        case UnsupportedError():
            return "unable"
        case LimitError():
            return "limit"
        case BusyError() | ModelError(retryable=True):
            return "passing"
    return "broken"
