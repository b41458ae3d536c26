"""The user's own prices: a YAML file that wins over the built-in list."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field, ValidationError, field_validator

from trailhound.checked import explain
from trailhound.collector.prices.names import plain, seller_of
from trailhound.collector.prices.tariff import Rates, Tariff
from trailhound.errors import Invalid
from trailhound.section import Section

SOURCE = "file"
_SECONDS_A_DAY = 86_400


def _no_boolean(value: Any) -> Any:
    """YAML reads `yes` and `on` as true, which would be a price of 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004  pydantic reports this one with the key
    return value


Price = Annotated[Decimal, BeforeValidator(_no_boolean), Field(ge=0, lt=10**9, decimal_places=12)]
"""US dollars a million tokens."""


class Entry(Section):
    """What models of one name cost, in US dollars a million tokens."""

    model: str = Field(min_length=1, description="name of the model; `acme-*` is a glob; letter case does not matter")
    provider: str | None = Field(None, description="only where this provider sells it, under any of its names")
    input: Price = Field(description="of input tokens")
    output: Price | None = Field(None, description="of output tokens; leave it out for models without, as embeddings")
    cache_read: Price | None = Field(None, description="of input tokens read from the cache; default: as `input`")
    cache_write: Price | None = Field(None, description="of input tokens written to the cache; default: as `input`")
    valid_from: datetime.date | None = Field(None, description="first day, in UTC, of this price; default: always")

    @property
    def subject(self) -> tuple[str, str | None]:
        """What is priced: entries of one subject are its prices over time."""
        return self.model.lower(), None if self.provider is None else seller_of(self.provider) or plain(self.provider)

    def fits(self, providers: Iterable[str], names: Iterable[str]) -> bool:
        glob, seller = self.subject
        return (seller is None or seller in providers) and any(fnmatch.fnmatchcase(name, glob) for name in names)

    @cached_property
    def tariff(self) -> Tariff:
        fresh = self.input.scaleb(-6)
        read, write, said = (
            None if price is None else price.scaleb(-6) for price in (self.cache_read, self.cache_write, self.output)
        )
        return Tariff(SOURCE, Rates(fresh, fresh if read is None else read, fresh if write is None else write, said))


class PriceFile(Section):
    """The whole file; an empty one prices nothing."""

    prices: list[Entry] = Field([], description="first match wins")

    @field_validator("prices")
    @classmethod
    def _no_doubles(cls, entries: list[Entry]) -> list[Entry]:
        seen = set()
        for entry in entries:
            key = (*entry.subject, entry.valid_from)
            if key in seen:
                when = "from the same day" if entry.valid_from else "without valid_from"
                raise ValueError(f"{entry.model} has two prices {when}")
            seen.add(key)
        return entries

    def entries(self, providers: Iterable[str], names: Iterable[str]) -> list[Entry]:
        """The entries that fit, in the order in which they are tried: subjects as in the file, the newest price first."""
        providers, names = set(providers), list(names)
        fitting = [entry for entry in self.prices if entry.fits(providers, names)]
        subjects = list(dict.fromkeys(entry.subject for entry in fitting))
        return sorted(fitting, key=lambda e: (subjects.index(e.subject), -_first_day(e)))


def in_force(entries: Iterable[Entry], time_s: int) -> Tariff | None:
    """The first of these prices that holds at a Unix time."""
    day = time_s // _SECONDS_A_DAY
    return next((entry.tariff for entry in entries if _first_day(entry) <= day), None)


def _first_day(entry: Entry) -> int:
    """Days since 1970."""
    return -1 if entry.valid_from is None else (entry.valid_from - datetime.date(1970, 1, 1)).days


def load_price_file(path: Path) -> PriceFile:
    """Raises Invalid with one line that names the entry, what is wrong with it and what is possible."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"prices.file {path}: cannot be read: {error}", reason="config") from None
    except yaml.YAMLError as error:
        raise Invalid(
            f"prices.file {path}: is no valid YAML: {' '.join(str(error).split())}", reason="config"
        ) from None
    if data is not None and not isinstance(data, dict):
        raise Invalid(f"prices.file {path}: must be a mapping with the key `prices`", reason="config")
    try:
        return PriceFile.model_validate(data or {})
    except ValidationError as error:
        raise Invalid(f"prices.file {path}: {explain(error, PriceFile)}", reason="config") from None
