"""Tell a model at once when its change broke a Python file."""

import ast
import platform
import warnings


def new_syntax_error(path: str, before: bytes, after: bytes) -> str:
    """A sentence on the syntax error that a change brought into a Python file, or "".

    A file that could not be parsed before says nothing: it may be written for another Python, or be meant so.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    fault = _fault(after)
    if not fault or _fault(before):
        return ""
    python = f"Python {platform.python_version()}"
    return f"Note: this is saved, but {python} now finds a syntax error in {fault}."


def _fault(source: bytes) -> str:
    """Where and why Python cannot parse this, or ""."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except SyntaxError as error:
            return f"line {error.lineno or 1}: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            return f"the file: {error or 'it is nested too deeply'}"
    return ""
