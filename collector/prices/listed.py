"""The built-in price list: genai-prices, which knows 2 330 models of 47 providers offline and what they cost before.

Importing this module imports that list (a third of a second), so `pricing` does it only when a price is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices, TimeOfDateConstraint

from trailhound.collector.prices.names import Lookup
from trailhound.collector.prices.tariff import Rates, Special, Tariff

SOURCE = f"genai-prices {genai_prices.__version__}"
_PROVIDERS = {provider.id: provider for provider in get_snapshot().providers}
_PRICES = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok", "output_reasoning_mtok")
"""Prices a million tokens, in the order of the fields of Rates."""


def find(ways: Iterable[Lookup]) -> ModelInfo | None:
    """The first model that one of these look-ups finds."""
    return next((model for way in ways if (model := _find(*way)) is not None), None)


def _find(seller: str | None, name: str) -> ModelInfo | None:
    provider = _maker(name) if seller is None else _PROVIDERS.get(seller)
    return None if provider is None else provider.find_model(name, all_providers=list(_PROVIDERS.values()))


def _maker(name: str) -> Provider | None:
    return next((p for p in _PROVIDERS.values() if p.model_match is not None and p.model_match.is_match(name)), None)


def changes_by_hour(model: ModelInfo) -> bool:
    """Whether the price depends on the time of day, not only on the date."""
    prices = model.prices
    return isinstance(prices, list) and any(isinstance(p.constraint, TimeOfDateConstraint) for p in prices)


def tariff(model: ModelInfo, time_s: int) -> Tariff | None:
    """The prices of `model` at a Unix time; None when it has none for tokens (priced by the hour, the page, ...)."""
    price = model.get_prices(datetime.fromtimestamp(time_s, UTC))
    listed = [getattr(price, name) for name in _PRICES]
    if listed[0] is None and listed[3] is None:
        return Tariff(SOURCE, _FREE) if model.id.endswith(":free") else None
    starts = sorted({tier.start for p in listed if isinstance(p, TieredPrices) for tier in p.tiers}, reverse=True)
    tiers = tuple((start, _rates(price, start)) for start in starts)
    return Tariff(SOURCE, _rates(price, -1), tiers)


_FREE = Rates(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


def _rates(price: ModelPrice, above: int) -> Rates:
    """The rates for an input longer than `above` tokens. Cached tokens without a price cost what others cost."""
    fresh, read, write, said, thought = _at(price, above)
    calls = price.requests_kcount
    special = None
    if isinstance(calls, Decimal) or (thought is not None and said is not None):
        a_call = calls.scaleb(-3) if isinstance(calls, Decimal) else Decimal(0)
        special = Special(a_call, Decimal(0) if thought is None or said is None else thought - said)
    return Rates(fresh, fresh if read is None else read, fresh if write is None else write, said, special)


def _at(price: ModelPrice, above: int) -> Iterator[Decimal | None]:
    for name in _PRICES:
        found = getattr(price, name)
        if isinstance(found, TieredPrices):
            found = next((t.price for t in reversed(found.tiers) if t.start <= above), found.base)
        yield None if found is None else found.scaleb(-6)
