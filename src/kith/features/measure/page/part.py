"""What was measured, as a part of the page and the API."""

from typing import Final

from kith.features.measure.page import api, routes
from kith.features.web.part import WebPart

PART: Final = WebPart(routes=(routes.router, api.router))
