"""Files of tests taken apart: which tests they hold, without some of them, or with those of another file."""

from kith.analysis.suites.part import Part, part_of
from kith.analysis.suites.parts import can_split, drop_parts, find_parts, merge_tests

__all__ = ["Part", "can_split", "drop_parts", "find_parts", "merge_tests", "part_of"]
