"""Python's own syntax tree of a text."""

import ast
import warnings
from functools import lru_cache


@lru_cache(maxsize=1)  # who looks at one file for two purposes has it parsed once
def parse_python(text: str) -> ast.Module | None:
    """The tree of a text, None where Python refuses it. Not to be changed: the next may get the same one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's invalid escapes are not our news
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
