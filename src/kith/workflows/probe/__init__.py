"""`kith models probe`: what a model can do on this machine, measured in under a minute."""

from kith.workflows.probe.probe import probe
from kith.workflows.probe.result import Item, ProbeResult, Speed

__all__ = ["Item", "ProbeResult", "Speed", "probe"]
