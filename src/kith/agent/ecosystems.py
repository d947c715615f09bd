"""The ecosystems whose tests are found, as the features that know them tell."""

from kith.gates.toolchain import Ecosystem
from kith.settings.features import features


def ecosystems() -> tuple[Ecosystem, ...]:
    """Every ecosystem beside those of the kernel, in the order in which they are asked."""
    return tuple(each.load() for feature in features() for each in feature.ecosystems)
