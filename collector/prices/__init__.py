"""What a model call costs, where its span does not say: the user's price file first, then a built-in price list."""

from trailhound.collector.prices.file import PriceFile, load_price_file
from trailhound.collector.prices.pricing import Prices, prices_of

__all__ = ["PriceFile", "Prices", "load_price_file", "prices_of"]
