"""Sets the cost of model calls that carry none, by rates that are resolved once for a model and a day."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from trailhound.collector.prices.file import PriceFile, in_force, load_price_file
from trailhound.collector.prices.names import lookups, plain
from trailhound.collector.prices.tariff import Tariff
from trailhound.model import Model, Step

_PRICED = frozenset({"llm", "embedding"})
_DAY_S = 86_400
_MINUTE_S = 60
_MOST = 10_000
"""Models, and moments of one model, that are remembered: senders choose both."""
_LONGEST_NAME = 256
"""Characters of a name that a price is looked up for."""

Names = tuple[str | None, str | None, str | None]
"""(provider, answering model, requested model) as the span writes them."""


class Prices:
    """What models cost: a function of the step, the price file and the built-in list.

    May be used from several threads: all that is kept is a memory of what those three say.
    """

    def __init__(self, own: PriceFile | None = None) -> None:
        self._own = own or PriceFile()
        self._models: dict[Names, _Moments] = {}

    def priced(self, step: Step) -> Step:
        """The step itself, with `cost_usd` and `price_source` set; to be called on a step just read from a span.

        A cost that the span carries stays. What is no model call, or has no known usage or price, stays None.
        """
        usage, model = step.usage, step.model
        if usage is None or model is None or step.cost_usd is not None or step.kind not in _PRICED:
            return step
        names = (model.provider, model.response, model.request)
        told_ns = step.start_ns or step.end_ns  # 0: it is not told, and 1970 had other prices
        tariff = (self._models.get(names) or self._learn(names, model)).at(told_ns)
        if tariff is not None:
            step.cost_usd = tariff.cost(usage)
            step.price_source = None if step.cost_usd is None else tariff.source
        return step

    def _learn(self, names: Names, model: Model) -> _Moments:
        if len(self._models) >= _MOST:
            self._models.clear()
        known = self._models[names] = self._look_up(model)
        return known

    def _look_up(self, model: Model) -> _Moments:
        called = [n for n in (model.response, model.request) if n and len(n) <= _LONGEST_NAME]
        ways = [way for name in called for way in lookups(model.provider, name)]
        sellers = {seller for seller, _ in ways if seller is not None} | {plain(model.provider or "")}
        entries = self._own.entries(sellers, dict.fromkeys([n.strip().lower() for n in called] + [w[1] for w in ways]))
        if any(entry.valid_from is None for entry in entries):
            return _Moments(_DAY_S, lambda time_s: in_force(entries, time_s))
        from trailhound.collector.prices import listed

        found = listed.find(ways)
        if found is None:
            return _Moments(_DAY_S, lambda time_s: in_force(entries, time_s))
        step_s = _MINUTE_S if listed.changes_by_hour(found) else _DAY_S
        return _Moments(step_s, lambda time_s: in_force(entries, time_s) or listed.tariff(found, time_s))


class _Moments:
    """The tariffs of one model, each looked up once for a span of time in which no price changes."""

    __slots__ = ("_look_up", "_step_ns", "_tariffs")

    def __init__(self, step_s: int, look_up: Callable[[int], Tariff | None]) -> None:
        self._step_ns = step_s * 1_000_000_000
        self._look_up = look_up
        self._tariffs: dict[int, Tariff | None] = {}

    def at(self, time_ns: int) -> Tariff | None:
        moment = time_ns // self._step_ns
        try:
            return self._tariffs[moment]
        except KeyError:
            return self._learn(moment)

    def _learn(self, moment: int) -> Tariff | None:
        if len(self._tariffs) >= _MOST:
            self._tariffs.clear()
        tariff = self._tariffs[moment] = self._look_up(moment * (self._step_ns // 1_000_000_000))
        return tariff


@lru_cache(maxsize=4)
def prices_of(path: Path | None) -> Prices:
    """The prices with the user's file at `path`, read once a process, so that all its parts agree.

    Raises Invalid when the file is wrong.
    """
    return Prices(None if path is None else load_price_file(path))
