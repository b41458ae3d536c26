"""Tool spans that tell neither id nor arguments: which of the model's requests each of them carried out, by their order.

Semantic Kernel up to 1.2x and OpenLLMetry's OpenAI Agents up to 0.58 end every tool's span so, Google ADK (2.13, 2.0 for
JavaScript) that of a tool that raised.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from trailhound.collector.assemble.known import Known, asked_at
from trailhound.model import Step

MOST = 256
"""Spans, and requests, of one tool in one trace up to which they are paired; the work for a new one grows with these."""

Tool = tuple[str, str]
"""(trace id, name of the tool)"""
SpanKey = tuple[str, str]


class Pairing:
    """Pairs the spans of a tool with the requests that no span names, turn by turn.

    A span is of the turn of the last model call that asked for its tool and began before it. In a turn with as many
    such spans as such requests, the first is of the first, and so on; in any other nothing is paired. So the pairs are
    a function of all that is known, whatever came first.
    """

    __slots__ = ("_dirty", "_pairs", "_requests", "_spans")

    def __init__(self) -> None:
        self._spans: dict[Tool, dict[SpanKey, Step]] = {}
        self._requests: dict[Tool, dict[str, None]] = {}
        """Of tools with such spans alone: ids of the calls asked for that had no span of their own when last looked at."""
        self._pairs: dict[SpanKey, str] = {}
        self._dirty: dict[Tool, None] = {}

    def add(self, span: Step, known: Mapping[str, Known]) -> None:
        """Take the span of a call, as it was read."""
        tool = _tool(span)
        if span.tool is None or span.transport:
            return
        if span.tool.call_id is None and span.tool.arguments is None:
            if tool not in self._spans:
                self._spans[tool] = {}
                self._requests[tool] = {call_id: None for call_id, call in known.items() if _asks(call, tool)}
            self._spans[tool][span.trace_id, span.span_id] = span
        if tool in self._spans:
            self._dirty[tool] = None

    def ask(self, model: Step, name: str, call_id: str) -> None:
        """A model call asked for a tool."""
        tool = (model.trace_id, name)
        if tool in self._spans:
            self._requests[tool][call_id] = None
            self._dirty[tool] = None

    def remove(self, span: Step) -> str | None:
        """Another report takes the span's place; returns the id of the call that it was paired with."""
        tool = _tool(span)
        if self._spans.get(tool, {}).pop((span.trace_id, span.span_id), None) is not None:
            self._dirty[tool] = None
        return self._pairs.pop((span.trace_id, span.span_id), None)

    def settle(self, known: Mapping[str, Known]) -> list[tuple[Step, str | None, str | None]]:
        """(span, call id that it was paired with, call id that it is paired with now) where that changed."""
        dirty, self._dirty = self._dirty, {}
        changed = []
        for tool in dirty:
            now = dict(self._paired(tool, known))
            for key, span in self._spans[tool].items():
                before, after = self._pairs.get(key), now.get(key)
                if before != after:
                    changed.append((span, before, after))
                    self._pairs.pop(key, None)
                    if after is not None:
                        self._pairs[key] = after
        return changed

    @property
    def waits(self) -> bool:
        """Whether anything came since the last `settle`."""
        return bool(self._dirty)

    def _paired(self, tool: Tool, known: Mapping[str, Known]) -> Iterator[tuple[SpanKey, str]]:
        open_ids = [call_id for call_id in self._requests[tool] if not _has_own(known[call_id])]
        self._requests[tool] = dict.fromkeys(open_ids)
        calls = sorted((known[c] for c in open_ids if _asks(known[c], tool)), key=asked_at)
        spans = sorted(self._spans[tool].values(), key=lambda span: span.order)
        if not calls or max(len(calls), len(spans)) > MOST:
            return
        turns = [list(turn) for _, turn in groupby(calls, key=lambda call: asked_at(call)[0])]
        starts = [asked_at(turn[0])[0][0] for turn in turns]
        for at, found in groupby(spans, key=lambda span: bisect_right(starts, span.start_ns) - 1):
            members = list(found)
            if at >= 0 and len(members) == len(turns[at]):
                yield from zip(map(_key, members), _ids(turns[at]), strict=True)


def _tool(span: Step) -> Tool:
    return (span.trace_id, span.tool.name if span.tool is not None else "")


def _key(span: Step) -> SpanKey:
    return (span.trace_id, span.span_id)


def _asks(call: Known, tool: Tool) -> bool:
    return call.asked is not None and call.asked_by is not None and (call.asked_by.trace_id, call.asked.name) == tool


def _has_own(call: Known) -> bool:
    """Whether a span names the call by its id."""
    return any(span.tool is not None and span.tool.call_id is not None for span in call.spans)


def _ids(turn: Iterable[Known]) -> Iterator[str]:
    return (call.asked.call_id or "" for call in turn if call.asked is not None)
