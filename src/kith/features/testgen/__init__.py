"""Tests written by a model and kept by what they prove: they pass on the code and notice planted faults."""

from kith.features.testgen.mutation import Mutation, mutation_score
from kith.features.testgen.target import Target, find_target, target_of_change

__all__ = ["Mutation", "Target", "find_target", "mutation_score", "target_of_change"]
