"""Tools of a project: scripts in `.kith/tools/` with a JSON header, in folders that are trusted."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "project_tools",
    "scripts in .kith/tools/ are tools of the model, once you trust the folder",
    tools=(_here("scripts:offer_tools"),),
)
