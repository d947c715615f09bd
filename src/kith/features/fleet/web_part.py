"""The fleet's part of `kith serve`, where the fleet's packages are installed."""

from importlib.util import find_spec
from typing import Final

from kith.core.feature import Lazy
from kith.features.web.part import WebPart

PART: Final[WebPart] = (
    Lazy[WebPart]("kith.features.fleet.page:PART").load() if find_spec("procrastinate") else WebPart()
)
