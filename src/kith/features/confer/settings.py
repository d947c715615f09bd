"""Define the settings of councils: `[confer]`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConferSettings:
    """The default members of a council, and its limits."""

    models: tuple[str, ...] = ()
    tokens: int = field(default=20_000, metadata={"least": 500})  # of one council, read and written
    judge: str = ""  # who decides where nothing can be tested; none: the first of the council
