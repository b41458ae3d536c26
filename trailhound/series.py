"""One series of a metric: its value in prometheus_client, and its lines as they are scraped, made anew after a change."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString


class Series:
    """A child of a metric with its labels; for any thread.

    A scrape of some thousand lines, of which few changed since the last one, would take as long as judging a thousand
    spans if every line were made again.
    """

    __slots__ = ("_changed", "_child", "_heads", "_labels", "_open", "_plain")

    def __init__(self, child: MetricWrapperBase, labels: Mapping[str, str]) -> None:
        """`labels` are as they are exported."""
        self._child, self._labels = child, labels
        self._heads: list[str] = []
        self._plain = self._open = ""
        self._changed = True

    def inc(self, amount: float, trace_id: str | None) -> None:
        assert isinstance(self._child, Counter)
        self._child.inc(amount, _exemplar(trace_id))
        self._changed = True  # after the change: whoever reads clears it before reading

    def set(self, value: float) -> None:
        assert isinstance(self._child, Gauge)
        self._child.set(value)
        self._changed = True

    def observe(self, value: float, trace_id: str | None) -> None:
        assert isinstance(self._child, Histogram)
        self._child.observe(value, _exemplar(trace_id))
        self._changed = True

    def lines(self, exemplars: bool) -> str:
        """The lines of this series in the text format, which OpenMetrics shares but for the exemplars."""
        if self._changed:
            self._changed = False
            self._write()
        return self._open if exemplars else self._plain

    def _write(self) -> None:
        [family] = self._child.collect()
        if not self._heads:  # the samples of a child are the same ones every time
            self._heads = [_head(sample.name, {**self._labels, **sample.labels}) for sample in family.samples]
        values = [f"{head} {number_text(s.value)}" for head, s in zip(self._heads, family.samples, strict=True)]
        self._plain = "\n".join(values) + "\n"
        ends = [_suffix(sample.exemplar) for sample in family.samples]
        self._open = (
            "".join(f"{value}{end}\n" for value, end in zip(values, ends, strict=True)) if any(ends) else self._plain
        )


def number_text(value: float) -> str:
    """A value as Prometheus writes it."""
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return text


def _head(name: str, labels: Mapping[str, str]) -> str:
    return f"{name}{{{_pairs(labels)}}}" if labels else name


def _pairs(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in sorted(labels.items()))


def _escaped(value: str) -> str:
    """Prometheus, "Text-based format", section "Comments, help text, and type information"."""
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _suffix(exemplar: Exemplar | None) -> str:
    """OpenMetrics 1.0, section "Exemplars"."""
    if exemplar is None:
        return ""
    return f" # {{{_pairs(exemplar.labels)}}} {number_text(exemplar.value)} {exemplar.timestamp}"


def _exemplar(trace_id: str | None) -> dict[str, str] | None:
    """OpenMetrics 1.0, section "Exemplars": label `trace_id`, 128 characters at most with its name."""
    return {"trace_id": trace_id} if trace_id else None
