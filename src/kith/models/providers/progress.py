"""What a call can be waiting for: the words of the Progress events that providers and wrappers emit."""

from typing import Final

from kith.core.events import Event

QUEUED: Final = "waiting for the model's slot"
ASKED: Final = "asked"  # a wait for the slot or the load is over
LOADING: Final = "loading the model"
READING: Final = "reading"  # the server took the prompt: it is never sent again


def ignore(event: Event) -> None:
    """The emit of those who tell nobody."""
