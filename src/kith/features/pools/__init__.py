"""Several servers that run the same model, as one: `[pools]` in the configuration."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature("pools", "several servers that run the same model, as one", pool=_here("pool:join"))
