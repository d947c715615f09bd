"""A model that is asked only as long as there is hope that it will solve its task."""

from dataclasses import dataclass, field

from kith.core.errors import HopelessError
from kith.core.events import Called, Event
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply
from kith.features.route.hopeless import Habits, why_hopeless


@dataclass(frozen=True, slots=True)
class Hopeful:
    """`model`, for a task that another one would take over; only calls of its `purpose` are watched.

    It sees the whole thread, so it stands outside of what shortens prompts.
    """

    model: Model
    habits: Habits
    purpose: str = "edit"
    _calls: list[Called] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask. Raises HopelessError before a call that would be in vain, and what the model raises."""
        mine = prompt.purpose == self.purpose
        why = why_hopeless(prompt.messages, self._calls, self.habits) if mine else ""
        if why:
            raise HopelessError(f"stopped as hopeless: {why}")

        def listen(event: Event) -> None:
            if mine and isinstance(event, Called) and event.stop != "error":
                self._calls.append(event)
            emit(event)

        return await self.model(prompt, listen)
