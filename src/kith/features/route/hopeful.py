"""A model that is asked only as long as there is hope that it will solve its task."""

from dataclasses import dataclass, field

from kith.core.errors import HopelessError
from kith.core.model import Emit, Prompt, Tab, Wrapped
from kith.core.values import Charge, Reply
from kith.features.route.hopeless import Habits, why_hopeless


@dataclass(frozen=True, slots=True)
class Hopeful(Wrapped):
    """`model`, for a task that another one would take over; only calls of its `purpose` are watched.

    It sees the whole thread, so it stands outside of what shortens prompts.
    """

    habits: Habits
    purpose: str = "edit"
    _calls: list[Charge] = field(default_factory=list, init=False, repr=False, compare=False)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask. Raises HopelessError before a call that would be in vain, and what the model raises."""
        mine = prompt.purpose == self.purpose
        why = why_hopeless(prompt.messages, self._calls, self.habits) if mine else ""
        if why:
            raise HopelessError(f"stopped as hopeless: {why}")

        with Tab() as tab:
            try:
                return await tab.ask(self.model, prompt, emit)
            finally:
                if mine:
                    self._calls.extend(each for each in tab.bill if each.stop != "error")
