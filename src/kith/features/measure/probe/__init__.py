"""`kith models probe`: what a model can do on this machine, measured in under a minute."""

from kith.features.measure.probe.probe import probe
from kith.features.measure.probe.result import Item, ProbeResult, Speed

__all__ = ["Item", "ProbeResult", "Speed", "probe"]
