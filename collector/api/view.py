"""What the API shows: the questions that its handlers ask, answered by the monitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from trailhound.collector.api.query import ListQuery, Place
from trailhound.collector.exposing import Exposed

if TYPE_CHECKING:
    from trailhound.collector.api.casework import Cases, Reviews
    from trailhound.collector.api.norms import Baselines

Document = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """One page of a list; `partial` says what could not be asked, for example `store: opening`."""

    items: list[Document] = field(default_factory=list)
    next: Place | None = None
    partial: str | None = None


class View(Protocol):
    """Blocking calls, made from worker threads. They raise Retryable when the answer cannot be known now."""

    cases: Cases
    reviews: Reviews
    baselines: Baselines

    def not_ready(self) -> list[str]:
        """Why the monitor is not ready, one `part: reason` each; empty when it is."""
        ...

    def metrics(self, accept: str) -> Exposed:
        """The metrics of all processes, in the format that this Accept header asks for."""
        ...

    def stats(self) -> Document: ...

    def trajectories(self, query: ListQuery) -> Page: ...

    def trajectory(self, key: str) -> Document | None:
        """The whole run with this trajectory id or trace id."""
        ...

    def spans(self, key: str) -> bytes | None:
        """The stored spans of that run as an OTLP `ExportTraceServiceRequest`."""
        ...

    def logs(self, key: str) -> bytes | None:
        """The stored log records about that run as an OTLP `ExportLogsServiceRequest`."""
        ...

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> list[Document]:
        """What is stored of each of these traces of a tenant: its spans, and the log records about it, as OTLP requests."""
        ...

    def findings(self, query: ListQuery) -> Page: ...

    def finding(self, finding_id: str) -> Document | None: ...

    def sessions(self, query: ListQuery) -> Page: ...

    def alerts(self, query: ListQuery) -> Page: ...

    def alert(self, alert_id: str) -> Document | None: ...

    def approve(self, told: Mapping[str, object]) -> Document:
        """Record a decision about a tool call; returns when it is durable. Raises Invalid for one that names no call."""
        ...

    def silences(self) -> list[Document]:
        """Those that hold now or later."""
        ...

    def silence(self, wanted: Mapping[str, object]) -> Document:
        """Set one; raises Invalid for one that cannot be meant."""
        ...

    def unsilence(self, silence_id: str) -> bool:
        """End one that was set; False when there is none."""
        ...
