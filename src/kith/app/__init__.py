"""Where everything meets: the only package that knows every concrete class."""

from kith.app.models import (
    Probed,
    end_of,
    engine_of,
    engines,
    explain_no_model,
    list_all,
    list_names,
    places_of,
    probe_model,
    pull_model,
    recommend_models,
    stop_own_engines,
)
from kith.app.tasks import LOG_FILE, App, Explained, Result, Task
from kith.models.stack import Opened

__all__ = [
    "LOG_FILE",
    "App",
    "Explained",
    "Opened",
    "Probed",
    "Result",
    "Task",
    "end_of",
    "engine_of",
    "engines",
    "explain_no_model",
    "list_all",
    "list_names",
    "places_of",
    "probe_model",
    "pull_model",
    "recommend_models",
    "stop_own_engines",
]
