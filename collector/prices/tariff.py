"""Rates of one model, and what a call costs by them: exact, in US dollars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from trailhound.model import Usage

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Special:
    """What few models charge besides."""

    call: Decimal = _NOTHING
    """US dollars a call, whatever its tokens."""
    reasoning: Decimal = _NOTHING
    """US dollars a reasoning token, above (or, negative, below) the rate of other output."""

    def cost(self, said: int, thought: int) -> Decimal:
        """For this many output tokens with these reasoning tokens in them."""
        return self.call + min(said, thought) * self.reasoning


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars a token; None where no price is known."""

    input: Decimal | None
    """Of input tokens that are neither read from nor written to a cache."""
    cache_read: Decimal | None
    cache_write: Decimal | None
    output: Decimal | None
    special: Special | None = None

    def cost(self, usage: Usage) -> Decimal | None:
        """What a call with this usage costs; None when a count or rate that it depends on is unknown.

        Counts of cached and reasoning tokens that are not given are taken as 0: providers leave them out then.
        """
        given, said = usage.input_tokens, usage.output_tokens
        if given is None or (said is None and self.output):
            return None
        read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        fresh = given - read - write
        if fresh < 0 or (fresh and self.input is None) or (said and self.output is None):
            return None
        total = fresh * (self.input or _NOTHING) + (said or 0) * (self.output or _NOTHING)
        if read or write:
            if self.cache_read is None or self.cache_write is None:
                return None
            total += read * self.cache_read + write * self.cache_write
        return total if self.special is None else total + self.special.cost(said or 0, usage.reasoning_tokens or 0)


@dataclass(frozen=True, slots=True)
class Tariff:
    """The rates of a model at one time, by the length of the input; `source` is what `Step.price_source` will say."""

    source: str
    base: Rates
    tiers: Sequence[tuple[int, Rates]] = ()
    """(input tokens above which these rates hold for the whole call, rates), longest first."""

    def cost(self, usage: Usage) -> Decimal | None:
        """US dollars; None when unknown."""
        for above, rates in self.tiers:
            if (usage.input_tokens or 0) > above:
                return rates.cost(usage)
        return self.base.cost(usage)
