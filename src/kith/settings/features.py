"""Which features the person switched off, known before any other setting is read."""

import os
from collections.abc import Mapping
from typing import Final

from kith.core.errors import UsageError
from kith.settings.files import find_file, parse, read_text
from kith.settings.read import find_folders

KEY: Final = "features_off"
_VARIABLE: Final = "KITH_FEATURES_OFF"


def features_off(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The names of the features that are off; a mistake in the file is told by the command that reads it."""
    if _VARIABLE in environ:
        return _names(environ[_VARIABLE])
    try:
        file = find_file(find_folders(environ)[0])
        text = read_text(file)
        return _names(parse(file, text)[0].get(KEY, ())) if KEY in text else frozenset()
    except UsageError:
        return frozenset()


def _names(value: object) -> frozenset[str]:
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return frozenset(word.strip() for word in words if isinstance(word, str))
