"""What was measured and what it says: benchmarks, profiles of models and builds, and why kith chose."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "measure",
    "what calls and tasks took: profiles, benches and probes",
    extends={"web": _here("page.routes:PART")},
    forget=_here("measured_rows:forget_rows"),
    commands=(
        Command(
            "profile",
            "Show speed, success and cost of models",
            _here("arguments:profile"),
            _here("profile_command:profile_command"),
            group="Measure",
        ),
        Command(
            "models probe",
            "Measure what a model can do",
            _here("arguments:probe"),
            _here("probe_command:probe_command"),
            "[MODEL]",
        ),
        Command(
            "bench",
            "Benchmark models on this machine",
            _here("arguments:bench"),
            _here("bench_command:bench_command"),
            "[MODEL ...]",
            group="Measure",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "profile",
            "Models",
            "what was measured of models here",
            _here("conversation:profile"),
            rest="[MODEL]",
            anytime=True,
            takes="model",
        ),
    ),
)
