"""The one exposition of all processes: families that two of them have become one, in the format that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Exposed:
    body: bytes
    content_type: str


def expose(registry: CollectorRegistry, others: Iterable[str], accept: str) -> Exposed:
    """The metrics of this process and those that others wrote as text, for a scraper with this Accept header.

    OpenMetrics, where it is asked for, carries exemplars; the text format cannot.
    """
    families = [*registry.collect(), *(family for text in others for family in text_string_to_metric_families(text))]
    encode, content_type = choose_encoder(accept)
    merged = CollectorRegistry()
    merged.register(_Merged(families))
    return Exposed(encode(merged), content_type)


class _Merged(Collector):
    """Series that are in several processes are added up: they are counters, or gauges of parts of one whole."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families: dict[str, list[Metric]] = {}
        for family in families:
            self._families.setdefault(family.name, []).append(family)

    def collect(self) -> Iterator[Metric]:
        for parts in self._families.values():
            yield parts[0] if len(parts) == 1 else _sum(parts)


def _sum(parts: list[Metric]) -> Metric:
    whole = Metric(parts[0].name, parts[0].documentation, parts[0].type)
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for sample in (sample for part in parts for sample in part.samples):
        key = (sample.name, tuple(sorted(sample.labels.items())))
        before = sums.get(key)
        sums[key] = sample if before is None else sample._replace(value=before.value + sample.value)
    whole.samples = list(sums.values())
    return whole
