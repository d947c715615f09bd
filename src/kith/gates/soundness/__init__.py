"""Without tests: what no longer parses, imports that lead nowhere, names that nothing defines."""

from kith.gates.soundness.fault import Fault
from kith.gates.soundness.find_faults import find_new_faults
from kith.gates.soundness.gate import soundness_gate

__all__ = ["Fault", "find_new_faults", "soundness_gate"]
