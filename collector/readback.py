"""Reads runs back from the store as they were told: many at once, because a query costs far more than a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from trailhound.canonical import stable_id
from trailhound.collector.exchange import Stored
from trailhound.collector.parked import ParkedRun
from trailhound.collector.store import Store
from trailhound.model import Run

T = TypeVar("T")

MANY_STEPS = 20_000
"""Steps of runs that are read together; a run that is larger is read by itself."""


@dataclass(frozen=True, slots=True)
class Late:
    """A trace of a run that was closed, and a span of which came."""

    tenant: str
    trace_id: str

    @property
    def key(self) -> tuple[str, ...]:
        return ("late", self.tenant, self.trace_id)


def read_back(store: Store, wanted: Sequence[Late | ParkedRun]) -> Iterator[tuple[Late | ParkedRun, Stored]]:
    """What each of them was, in four queries for all that are small. Raises Retryable when the store is away."""
    by_tenant: dict[str, list[Late | ParkedRun]] = defaultdict(list)
    for each in wanted:
        by_tenant[each.tenant].append(each)
    for tenant, ours in by_tenant.items():
        homes = [stable_id(tenant, each.trace_id) for each in ours if isinstance(each, Late)]  # as nearly all are named
        known = _Known(store.trajectories_of(tenant, [*homes, *map(_name, ours)]))
        for some in _together(ours, known):
            yield from _read(store, tenant, some, known)


class _Known:
    """Headers by what they were asked for."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_id: dict[str, Run] = {}
        self._by_trace: dict[str, Run] = {}
        for run in sorted(runs, key=lambda each: (each.started_ns, each.trajectory_id)):
            self._by_id[run.trajectory_id] = run
            for trace_id in run.trace_ids:
                self._by_trace.setdefault(trace_id, run)

    def header(self, wanted: Late | ParkedRun) -> Run | None:
        return (self._by_trace if isinstance(wanted, Late) else self._by_id).get(_name(wanted))


def _name(wanted: Late | ParkedRun) -> str:
    return wanted.trace_id if isinstance(wanted, Late) else wanted.trajectory_id


def _together(wanted: list[Late | ParkedRun], known: _Known) -> Iterator[list[Late | ParkedRun]]:
    """In parts of at most MANY_STEPS."""
    part: list[Late | ParkedRun] = []
    steps = 0
    for each in wanted:
        header = known.header(each)
        own = header.totals.steps if header is not None else 1
        if part and steps + own > MANY_STEPS:
            yield part
            part, steps = [], 0
        part.append(each)
        steps += own
    yield part


def _read(
    store: Store, tenant: str, wanted: list[Late | ParkedRun], known: _Known
) -> Iterator[tuple[Late | ParkedRun, Stored]]:
    headers = [known.header(each) for each in wanted]
    full = [h is not None and h.status_reason == "step_limit" and isinstance(w, Late) for w, h in zip(wanted, headers, strict=True)]  # fmt: skip
    traces = [() if f else _traces(w, h) for w, h, f in zip(wanted, headers, full, strict=True)]
    asked = list(dict.fromkeys(trace_id for each in traces for trace_id in each))
    spans = _grouped(store.load_spans(tenant, asked), lambda span: span.trace_id)
    logs = _grouped(store.load_logs(tenant, asked), lambda row: row.trace_id)
    ids = [_run_id(w, h) for w, h in zip(wanted, headers, strict=True)]
    findings = _grouped(store.findings_of(tenant, [i for i in ids if i]), lambda f: f.trajectory_id or "")
    for each, header, over, ours, run_id in zip(wanted, headers, full, traces, ids, strict=True):
        if over:
            yield each, Stored(full=True)
            continue
        parked = each if isinstance(each, ParkedRun) else None
        yield (
            each,
            Stored(
                [span for trace_id in ours for span in spans.get(trace_id, ())],
                findings.get(run_id, ()),
                parked.heard if parked is not None else (),
                parked,
                header=header,
                logs=[row for trace_id in ours for row in logs.get(trace_id, ())] if parked is None else (),
                trace=(each.tenant, each.trace_id) if isinstance(each, Late) else None,
            ),
        )


def _traces(wanted: Late | ParkedRun, header: Run | None) -> Sequence[str]:
    if isinstance(wanted, ParkedRun):
        return wanted.trace_ids
    return header.trace_ids if header is not None else (wanted.trace_id,)


def _run_id(wanted: Late | ParkedRun, header: Run | None) -> str:
    return header.trajectory_id if header is not None else "" if isinstance(wanted, Late) else wanted.trajectory_id


def _grouped(items: Iterable[T], of: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(of(item), []).append(item)
    return groups
