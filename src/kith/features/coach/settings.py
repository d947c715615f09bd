"""Define the settings of coaching: `[coach]`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CoachSettings:
    """The settings of experiments with strategies: their author, and their share of the work."""

    model: str = ""  # who proposes; none: the one that is coached
    live: float = field(
        default=0.2, metadata={"least": 0, "most": 1}
    )  # share of the tasks that a canary gets
    max_trials: int = field(
        default=200, metadata={"least": 1}
    )  # recorded tasks done again for one experiment
    max_usd: float | None = field(
        default=None, metadata={"least": 0}
    )  # for proposals and replays together, a day
