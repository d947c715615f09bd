"""The routes of OpenAI's dialect, as a part of the API."""

from typing import Final

from kith.features.gateway.completions import router
from kith.features.web.part import WebPart

PART: Final = WebPart(routes=(router,))
