"""OpenTelemetry traces of tasks: calls, tools and verdicts, without any content."""

from msgspec import Struct

from kith.core.feature import Feature, Lazy, lazy_in

_here = lazy_in(__name__)


class TracesSettings(Struct, frozen=True):
    """The settings of traces: `[traces]`.

    `url` is where a collector takes OTLP over HTTP; `key_env` names the variable with a bearer token for it.
    """

    url: str = ""
    key_env: str = ""


FEATURE = Feature(
    "traces",
    "OpenTelemetry traces of tasks; off until you set traces.url",
    settings=Lazy(f"{__name__}:TracesSettings"),
    listener=_here("listening:make_listener"),
)
