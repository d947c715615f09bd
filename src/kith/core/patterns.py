"""Regular expressions that are compiled when they are first used."""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile` for a constant that not every run needs: loading its module does not wait for it."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """A part of the compiled pattern; found here the next time."""
        part = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, part)
        return part
