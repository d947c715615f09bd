"""Edits from plain requests, such as `replace "a" with "b" in x.txt`, without a model."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "direct",
    "edits from plain requests, without a model",
    shortcut=_here("tasks:SHORTCUT"),
    edits=_here("edits:EDITS"),
)
