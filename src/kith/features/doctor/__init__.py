"""`kith doctor`: looks at everything kith stands on, and names the command that mends what is broken."""

from kith.features.doctor.check import Check, Level
from kith.features.doctor.examine import examine

__all__ = ["Check", "Level", "examine"]
