"""Which traces in memory nothing is joined to, as if they had left: a run is found by others for its time and no longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from trailhound.collector.assemble.shared_ids import TraceKey


class Retired:
    """Whether a trace can be found by others is asked with `in`: `trace in retired` is one that cannot."""

    def __init__(self) -> None:
        self._traces: set[TraceKey] = set()
        self._among: set[TraceKey] | None = None
        """While a run is brought back `apart`: its traces."""

    def __contains__(self, trace: object) -> bool:
        return trace in self._traces if self._among is None else trace not in self._among

    def has(self, trace: TraceKey) -> bool:
        """Whether the trace was retired, whatever is brought back just now."""
        return trace in self._traces

    def add(self, trace: TraceKey) -> None:
        self._traces.add(trace)

    def opened(self, trace: TraceKey) -> None:
        """The trace has just come into memory."""
        if self._among is not None:
            self._among.add(trace)

    def take(self, traces: Iterable[TraceKey]) -> set[TraceKey]:
        """Let those of the traces that were retired be found again, and return them."""
        back = self._traces.intersection(traces)
        self._traces -= back
        return back

    @contextmanager
    def apart(self) -> Iterator[set[TraceKey]]:
        """What comes into memory meanwhile is joined to nothing but itself, and is retired afterwards: it is looked at
        again without anything of its own having come, which depends on what is in memory. Yields its traces."""
        self._among = set()
        try:
            yield self._among
        finally:
            self._traces |= self._among
            self._among = None
