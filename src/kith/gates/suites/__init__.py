"""Files of tests taken apart: which tests they hold, without some of them, or with those of another file."""

from kith.gates.suites.part import Part, part_of
from kith.gates.suites.parts import can_split, drop_parts, find_parts, merge_tests

__all__ = ["Part", "can_split", "drop_parts", "find_parts", "merge_tests", "part_of"]
