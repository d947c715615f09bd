"""What a library warns of, and faults that nobody waits for, are shown above the picture and not over it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from kith.terminal.screen import Screen
from kith.view.printing import printable


class _Shown(logging.Handler):
    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """One record, with its traceback; asyncio logs the faults of what nobody awaits."""
        self._screen.show(printable(self.format(record)), style="red")


@contextmanager
def shown_faults(screen: Screen) -> Iterator[None]:
    """While it is entered, nothing that is logged reaches stderr: the screen shows it."""
    handler, root = _Shown(screen), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
