"""Prices of models, as the settings see them."""

from kith.models.prices import OWN_FILE as OWN_FILE
from kith.models.prices import Price as Price
from kith.models.prices import Prices, load_prices
from kith.models.prices import Rate as Rate
from kith.settings import Settings


def prices_of(chosen: Settings) -> Prices:
    """The table of prices, with the person's own rows. Raises UsageError for a file badly written."""
    return load_prices(chosen.config)
