"""What a person chooses about councils: `[confer]`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConferSettings:
    """Who confers where nobody is named, and how much that may take."""

    models: tuple[str, ...] = ()
    tokens: int = field(default=20_000, metadata={"least": 500})  # of one council, read and written
    judge: str = ""  # who decides where nothing can be tested; none: the first of the council
