"""The protocols of Anthropic and Gemini, whose models are in a cloud."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "clouds",
    "the protocols of Anthropic and Gemini",
    protocols={"anthropic": _here("anthropic:PROTOCOL"), "gemini": _here("gemini:PROTOCOL")},
)
