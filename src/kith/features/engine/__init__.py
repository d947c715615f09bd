"""An engine of kith's own: one llama.cpp server for each model file, shared, and never left behind."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "engine",
    "kith's own llama.cpp: model files of this machine, and downloads",
    models={"file": _here("own:engine_of")},
    settings=_here("settings:EngineSettings"),
    commands=(
        Command(
            "models pull",
            "download a model",
            _here("arguments:pull"),
            _here("pull_command:pull_command"),
            "REPO[:QUANT]",
        ),
        Command(
            "engine",
            "show or stop kith's own engine",
            _here("arguments:engine"),
            _here("engine_command:engine_command"),
            "[status|stop]",
        ),
    ),
)
