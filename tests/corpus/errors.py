"""Failed calls, made good or not, failures that come back as data, and runs that stop without an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus.cases import Case, Maker, recipe

FAILURES: tuple[Any, ...] = (
    {"isError": True, "content": [{"type": "text", "text": "no such order"}]},
    {"error": "no such order"},
    {"error": {"code": 404, "message": "no such order"}},
    {"is_error": True, "content": "no such order"},
    {"success": False, "error": "not allowed"},
)
FINE: tuple[Any, ...] = (
    {"error": None, "rows": [1]},
    {"errors": [], "count": 2},
    {"isError": False, "content": "ok"},
    {"error": 0.05, "mean": 2.1},
    {"level": "error", "error": "disk full", "line": 7},
    "0 errors found",
    "the error log is empty",
    {"error": ""},
    {"error": False, "value": 3},
)


@recipe
def recovered(m: Maker) -> Iterator[Case]:
    for _ in range(5):
        inner = Maker(m.rng, m.half)
        name = inner.tool
        inner.work(inner.around())
        inner.fail(name, {"id": "bad"}, "ValueError", "no such id")
        inner.call(name, {"id": "good"}, {"found": 1})
        inner.work(inner.around())
        yield Case("errors: made good by another call", inner.steps, {"tool-error": "info"})


@recipe
def not_recovered(m: Maker) -> Iterator[Case]:
    for _ in range(5):
        inner = Maker(m.rng, m.half)
        inner.work(inner.around())
        inner.fail("close_order", {"id": inner.rng.randint(1, 99)}, "ValueError", "not allowed")
        inner.work(inner.around())
        yield Case("errors: not made good", inner.steps, {"tool-error": "warning"})


@recipe
def as_data(m: Maker) -> Iterator[Case]:
    for failure in FAILURES:
        for later in (False, True):
            inner = Maker(m.rng, m.half)
            inner.call("close_order", {"id": 1}, failure)
            if later:
                inner.call("close_order", {"id": 2}, {"closed": True})
            yield Case("errors: failure as data", inner.steps, {"tool-error": "info" if later else "warning"})


@recipe
def declared(m: Maker) -> Iterator[Case]:
    m.call("close_order", {"id": 1}, {"state": "refused", "by": "policy"})
    yield Case("errors: declared by error_when", m.steps, {"tool-error": "warning"}, tools=[{"match": "close_order", "error_when": "result.state == 'refused'"}])  # fmt: skip


@recipe
def no_failure(m: Maker) -> Iterator[Case]:
    for result in FINE:
        inner = Maker(m.rng, m.half)
        inner.call(inner.tool, {"id": 1}, result)
        inner.work(1)
        yield Case("errors: results that only mention errors", inner.steps)


@recipe
def endings(m: Maker) -> Iterator[Case]:
    for status in ("unfinished", "completed", "failed", "waiting") * 3:
        inner = Maker(m.rng, m.half)
        inner.work(inner.rng.randint(1, 6))
        yield Case(f"ending: {status}", inner.steps, {"unfinished": "warning"} if status == "unfinished" else {}, status=status)  # fmt: skip
