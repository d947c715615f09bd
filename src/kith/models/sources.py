"""Models that need no server: `PREFIX/MODEL`, for the prefixes of features."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kith.core.errors import UsageError
from kith.core.model import Emit
from kith.models.discovery.stored import FILES, Stored
from kith.models.providers.facts import Provider


class Source(Protocol):
    """A provider of the models with one prefix; that of `file` also lists files on disk."""

    async def open(self, model: str, emit: Emit) -> Provider:
        """The model of that name, or at that path. Raises NoModelError, ModelError, UsageError."""
        ...

    async def stored(self) -> tuple[Stored, ...]:
        """The model files that there are; a broken one has a fault."""
        return ()

    async def best(self) -> str:
        """The name of the file to begin with; "" where there is none that can be run: `excuse` says why."""
        return ""

    async def excuse(self) -> str:
        """Explain why no existing file can be run; "" when there are none."""
        return ""


# By prefix; each is made when it is first needed.
Sources = Mapping[str, Callable[[], Source]]


@dataclass(frozen=True, slots=True)
class NoSource(Source):
    """A placeholder for a missing or disabled source: `why` is a sentence."""

    why: str

    async def open(self, model: str, emit: Emit) -> Provider:
        raise UsageError(self.why)


def files_of(sources: Sources) -> Source:
    """Return the source that opens model files."""
    return sources[FILES]() if FILES in sources else NoSource("Nothing that is installed runs model files.")
