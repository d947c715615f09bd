"""Tool calls that models write as text, each in the dialect it has learnt."""

from kith.models.dialects.coerce import coerce
from kith.models.dialects.json_text import repair_json
from kith.models.dialects.read import ParsedReply, fit_call, read_calls

__all__ = ["ParsedReply", "coerce", "fit_call", "read_calls", "repair_json"]
