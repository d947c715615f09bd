"""Mutants: small faults planted in source code, by which tests show whether they would notice one."""

from kith.features.testgen.mutants.find import can_mutate, find_mutants, spread_mutants
from kith.features.testgen.mutants.mutant import Lines, Mutant, apply_mutant, show_mutant

__all__ = ["Lines", "Mutant", "apply_mutant", "can_mutate", "find_mutants", "show_mutant", "spread_mutants"]
