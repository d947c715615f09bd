"""Linters and type checkers of Python, C and C++, shells, Rust, JavaScript and Go."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "linters",
    "linters and type checkers of Python, C++, shells, Rust, JavaScript and Go",
    linters=_here("find_linters:FINDER"),
)
