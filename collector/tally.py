"""What became of every span that was read: the conservation sum whose rest must be 0."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from trailhound.collector.decode import Received
from trailhound.collector.dialects import unread
from trailhound.metrics import Metrics
from trailhound.model import Step


class Tally:
    """decoded = stored + duplicate + rejected + dead + pending, over the life of this process (invariant 8)."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._lock = threading.Lock()
        self._open = 0
        """Spans decoded whose fate is not known yet."""
        for name in ("decoded", "stored", "duplicate", "late", "unjudged"):
            metrics.init(f"trailhound_spans_{name}_total")

    def decoded(self, count: int, *, duplicate: int, rejected: int) -> None:
        """`count` spans came, of which so many need not be stored."""
        self._metrics.inc("trailhound_spans_decoded_total", count)
        self._metrics.inc("trailhound_spans_duplicate_total", duplicate)
        with self._lock:
            self._open += count - duplicate - rejected

    def understood(self, new: Sequence[tuple[Received, Step]]) -> None:
        """Count spans by dialect, and the attributes in a dialect's name space that no reader knows."""
        spans: Counter[str] = Counter()
        for dialects, count in Counter([step.dialects for _, step in new]).items():
            spans.update(dict.fromkeys(dialects, count))
        unknown: Counter[str] = Counter()
        for names, count in Counter([tuple(received.span.attributes) for received, _ in new]).items():
            for dialect, _ in unread(names):  # spans of the same names are alike in this
                unknown[dialect] += count
        for dialect, count in spans.items():
            self._metrics.inc("trailhound_spans_by_dialect_total", count, dialect=dialect)
        for dialect, count in unknown.items():
            self._metrics.inc("trailhound_unknown_attributes_total", count, dialect=dialect)

    def stored(self, count: int, dead: int) -> None:
        """An insert ended: so many spans are stored, so many are dead letters."""
        self._metrics.inc("trailhound_spans_stored_total", count)
        if dead:
            self._metrics.inc("trailhound_dead_letters_total", dead, reason="insert")
        with self._lock:
            self._open -= count + dead

    def late(self, count: int) -> None:
        self._metrics.inc("trailhound_spans_late_total", count)

    def unjudged(self, count: int) -> None:
        self._metrics.inc("trailhound_spans_unjudged_total", count)

    def measure(self, pending: int) -> None:
        """Set the gauges; `pending` is counted where the spans wait, independently of the sums here."""
        with self._lock:
            rest = self._open
        self._metrics.set("trailhound_spans_pending", pending)
        self._metrics.set("trailhound_conservation_residual", rest - pending)
