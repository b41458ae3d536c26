"""The one exposition of all processes: families that two of them have become one, in the format that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.exposition import choose_encoder

from trailhound.metrics import Metrics
from trailhound.series import number_text

_FAMILY = re.compile(r"# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n((?:[^#].*\n)*)")
"""Name, help, type and lines of a family, as `as_text` writes it."""


@dataclass(frozen=True)
class Exposed:
    body: bytes
    content_type: str


@dataclass
class Family:
    """A metric as text; `lines` end with a line feed each."""

    name: str
    help: str
    type: str
    lines: str

    def text(self, openmetrics: bool) -> str:
        """OpenMetrics names the family of a counter without the `_total` of its lines."""
        name = self.name.removesuffix("_total") if openmetrics and self.type == "counter" else self.name
        return f"# HELP {name} {self.help}\n# TYPE {name} {self.type}\n{self.lines}"


def expose(metrics: Metrics, others: Iterable[str], accept: str) -> Exposed:
    """The metrics of this process and those that others wrote with `as_text`, for a scraper with this Accept header.

    OpenMetrics, where it is asked for, carries exemplars; the text format cannot.
    """
    _, content_type = choose_encoder(accept)
    openmetrics = content_type.startswith("application/openmetrics-text")
    families = {family.name: family for family in _families(metrics, openmetrics)}
    for other in (Family(*found) for text in others for found in _FAMILY.findall(text)):
        ours = families.setdefault(other.name, other)
        if ours is not other:
            families[other.name] = _sum(next(f for f in _families(metrics, False) if f.name == other.name), other)
    body = "".join(family.text(openmetrics) for family in families.values()) + ("# EOF\n" if openmetrics else "")
    return Exposed(body.encode(), content_type)


def as_text(metrics: Metrics) -> str:
    """The metrics of a process for `expose` in another one: the Prometheus text format."""
    return "".join(family.text(openmetrics=False) for family in _families(metrics, exemplars=False))


def _families(metrics: Metrics, exemplars: bool) -> Iterator[Family]:
    for spec, series in metrics.families():
        yield Family(spec.name, spec.help, spec.type, "".join([each.lines(exemplars) for each in series]))


def _sum(one: Family, two: Family) -> Family:
    """Series that are in several processes are added up: they are counters, or gauges of parts of one whole."""
    sums: dict[str, float] = {}
    for line in (one.lines + two.lines).splitlines():
        head, _, value = line.rpartition(" ")
        sums[head] = sums.get(head, 0.0) + float(value)
    return Family(one.name, one.help, one.type, "".join(f"{h} {number_text(v)}\n" for h, v in sums.items()))
