"""An engine of kith's own: one llama.cpp server for each model file, shared, and never left behind."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "engine",
    "kith's own llama.cpp: model files of this machine, and downloads",
    models={"file": _here("model_files:engine_of")},
    settings=_here("options:EngineSettings"),
    commands=(
        Command(
            "models pull",
            "Download a model",
            _here("arguments:pull"),
            _here("commands:pull_command"),
            "REPO[:QUANT]",
        ),
        Command(
            "engine",
            "Show or stop kith's own engine",
            _here("arguments:engine"),
            _here("commands:engine_command"),
            "[status|stop]",
            group="Models",
        ),
    ),
)
