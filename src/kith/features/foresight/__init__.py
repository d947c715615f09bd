"""Forecasts of how long a model's calls take, learned from the calls before, and why one was slow."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "foresight",
    "how long a call will take, and why one was slow",
    foresee=_here("foresight:foresight_of"),
)
