"""The web for models, off until switched on: pages as Markdown, and a search engine that the person chose."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "browse",
    "web pages and web search for models; off until you set browse.on",
    tools=(_here("offer:offer_tools"),),
    settings=_here("offer:BrowseSettings"),
)
