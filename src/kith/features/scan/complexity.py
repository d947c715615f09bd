"""How complex each function of a text is: exact for Python, by tree-sitter for C and C++, else estimated."""

from posixpath import splitext

from kith.context.source import BRACED_ENDINGS, CPP_ENDINGS, PYTHON_ENDINGS
from kith.features.scan.complexity_cpp import measure_cpp
from kith.features.scan.complexity_lexical import measure_braces
from kith.features.scan.complexity_python import measure_python
from kith.features.scan.function_measure import FunctionMeasure


def functions(path: str, text: str) -> tuple[FunctionMeasure, ...]:
    """The functions and methods of a text, in order of their first line.

    Empty for a text that its language's parser refuses, and for languages that are not known. Linear in the
    text's length; nothing a text holds makes it raise.
    """
    ending = splitext(path)[1].lower()
    found = measure_cpp(text) if ending in CPP_ENDINGS else None
    if ending in PYTHON_ENDINGS:
        found = measure_python(text)
    elif found is None and ending in BRACED_ENDINGS:
        found = measure_braces(path, text)
    return tuple(sorted(found or (), key=lambda each: (each.first, -each.last, each.name)))
