"""Where decisions and calls are filed, place by place, so that those about each other are found together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trailhound.collector.assemble.crowds import MAX_LIKE, Crowd
from trailhound.collector.assemble.filed import (
    ANY_TOOL,
    Call,
    CallKey,
    Carrier,
    Filed,
    Key,
    Place,
    keys_of,
    keys_of_call,
)
from trailhound.collector.assemble.records import TraceKey, trace_of
from trailhound.evaluators.tools import bare_name
from trailhound.model import Approval

ANSWERS = frozenset({"approved", "denied", "edited", "expired", "cancelled"})
"""Decisions that somebody made; `requested` is none."""

MAX_FILED = 200_000
"""Decisions and calls that are remembered; beyond it the oldest go, which is counted."""


@dataclass(slots=True)
class Shelf:
    """What is filed in one place."""

    decisions: dict[Key, dict[Carrier, tuple[Approval, ...]]] = field(default_factory=dict)
    asked: dict[Key, dict[Carrier, None]] = field(default_factory=dict)
    """Who told of requests, which their answers end."""
    calls: dict[Key, Crowd] = field(default_factory=dict)
    by_tool: dict[Key, dict[CallKey, Call]] = field(default_factory=dict)
    """The last `MAX_LIKE` calls of a tool, which its name alone finds: who is asked again, not what is compared."""
    answers: set[Carrier] = field(default_factory=set)
    """Who told of a decision that counts, about any call: this place's decisions reach us."""

    def put_call(self, key: Key, call: Call) -> list[CallKey]:
        """File a call; returns the call that is compared no more because of it."""
        if key[0] == "tool":
            self._put_by_tool(key, call)
            return []
        out = self.calls.setdefault(key, Crowd()).put(call)
        return [] if out is None else [out]

    def _put_by_tool(self, key: Key, call: Call) -> None:
        calls = self.by_tool.setdefault(key, {})
        calls[call.key] = call
        if len(calls) > MAX_LIKE:
            del calls[min(calls.values(), key=lambda c: c.order).key]

    def put_decision(self, key: Key, carrier: Carrier, decision: Approval) -> None:
        told = self.decisions.setdefault(key, {})
        told[carrier] = (*told.get(carrier, ()), decision)
        if decision.decision == "requested":
            self.asked.setdefault(key, {})[carrier] = None

    def remove(self, filed: Filed, keys: set[Key]) -> list[CallKey]:
        """Take it off; returns the calls that are compared instead."""
        self.answers.discard(filed.key)
        instead: list[CallKey | None] = []
        for key in keys:
            for shelved in (self.decisions, self.asked, self.by_tool, self.calls):
                told = shelved.get(key)
                if told is not None:
                    instead.append(_pop(told, filed.key))
                    if not told:
                        del shelved[key]
        return [call for call in instead if call is not None]

    def called(self, key: Key, *, all_alike: bool = False) -> Iterable[CallKey]:
        """The calls that are compared, or asked again, under a key; `all_alike`: those beyond the compared ones too."""
        crowd = self.calls.get(key)
        if crowd is not None:
            return (*crowd.first, *crowd.later) if all_alike else crowd.first
        if key == ANY_TOOL:
            return [call for calls in self.by_tool.values() for call in calls]
        return self.by_tool.get(key, ())

    def all_calls(self) -> Iterator[CallKey]:
        for crowd in self.calls.values():
            yield from (*crowd.first, *crowd.later)
        for calls in self.by_tool.values():
            yield from calls

    def __bool__(self) -> bool:
        return bool(self.decisions or self.calls or self.by_tool or self.answers)


def _pop(told: Crowd | dict[Carrier, Any] | dict[CallKey, Call], key: Carrier) -> CallKey | None:
    if isinstance(told, Crowd):
        return told.pop(key)  # type: ignore[arg-type]
    told.pop(key, None)  # type: ignore[arg-type]
    return None


class Shelves:
    """Everything that is filed. What is filed anew takes the place of what was filed under the same key."""

    def __init__(self) -> None:
        self._shelves: dict[Place, Shelf] = {}
        self.filed: OrderedDict[Carrier | CallKey, Filed] = OrderedDict()
        self.loose: dict[TraceKey, dict[Carrier, None]] = {}
        """By their trace, the records that name nothing else."""
        self.dropped = 0
        """How many were let go of before their time."""

    def of(self, places: Iterable[Place]) -> Iterator[Shelf]:
        """The shelves of these places."""
        return (self._shelves[place] for place in places if place in self._shelves)

    def compared(self, place: Place, key: Key) -> Iterable[CallKey]:
        """The calls in a place that are compared with each other under a key."""
        shelf = self._shelves.get(place)
        return shelf.calls[key].first if shelf is not None and key in shelf.calls else ()

    def told(self, place: Place, key: Key) -> Iterable[Carrier]:
        """Who told of decisions that are filed in a place under a key."""
        shelf = self._shelves.get(place)
        return () if shelf is None else shelf.decisions.get(key, ())

    def asked(self, places: Iterable[Place], key: Key) -> bool:
        """Whether anybody asks under a key in these places."""
        return any(key in shelf.asked for shelf in self.of(places))

    def asks(self, filed: Filed) -> bool:
        """Whether what is filed here asks, or may be the answer to somebody who does."""
        return any(self.asked((*filed.places, filed.always), key) or key[0] == "turn" for key in filed.found_under())

    def calls(self, place: Place, key: Key) -> Iterable[CallKey]:
        """The calls that are filed in a place under a key."""
        shelf = self._shelves.get(place)
        return () if shelf is None else shelf.called(key)

    def about(self, places: Iterable[Place]) -> list[Filed]:
        """Everything that is filed in these places, and elsewhere where it is about the same decisions, in the order in
        which it was filed."""
        keys: set[Carrier | CallKey] = set()
        for shelf in self.of(places):
            keys.update(carrier for told in shelf.decisions.values() for carrier in told)
            keys.update(shelf.all_calls())
        filed = [self.filed[key] for key in keys if key in self.filed]
        beside = {key for each in filed if each.decisions for key in self.touched(each)} - keys
        filed += [self.filed[key] for key in beside if key in self.filed]
        return sorted(filed, key=lambda f: (f.received_ns, f.key))

    def put(self, filed: Filed, trusted: tuple[Approval, ...] = ()) -> list[CallKey]:
        """File it; `trusted` are those of its decisions whose sender is trusted. Returns the calls it crowded out."""
        if len(self.filed) >= MAX_FILED:
            self.remove(next(iter(self.filed.values())))
            self.dropped += 1
        self.filed[filed.key] = filed
        if (trace := trace_of(filed)) is not None:
            self.loose.setdefault(trace, {})[filed.key] = None
        out: list[CallKey] = []
        for place in filed.places:
            shelf = self._shelves.setdefault(place, Shelf())
            for decision in filed.decisions:
                for key in keys_of(decision):
                    shelf.put_decision(key, filed.key, decision)
            if any(d.decision in ANSWERS for d in trusted):
                shelf.answers.add(filed.key)
            for key in keys_of_call(filed.call) if filed.call is not None else ():
                out += shelf.put_call(key, filed.call)  # type: ignore[arg-type]
        self._put_always(filed)
        return out

    def _put_always(self, filed: Filed) -> None:
        wide = [d for d in filed.decisions if d.scope == "always" and (d.tool is not None or d.call_id is not None)]
        if not wide and filed.call is None:
            return
        shelf = self._shelves.setdefault(filed.always, Shelf())
        for decision in wide:
            key = ANY_TOOL if decision.tool is None else ("tool", bare_name(decision.tool))
            shelf.put_decision(key, filed.key, decision)
        if filed.call is not None:
            shelf.put_call(("tool", bare_name(filed.call.tool)), filed.call)

    def remove(self, filed: Filed) -> list[CallKey]:
        """Take it off its shelves; returns the calls that it may have mattered to."""
        touched = self.touched(filed)
        del self.filed[filed.key]
        if (trace := trace_of(filed)) is not None:
            self.loose[trace].pop(filed.key)
            if not self.loose[trace]:
                del self.loose[trace]
        keys = filed.found_under() | ({("tool", bare_name(filed.call.tool))} if filed.call is not None else set())
        for place in (*filed.places, filed.always):
            shelf = self._shelves.get(place)
            if shelf is not None:
                touched += shelf.remove(filed, keys)
                if not shelf:
                    del self._shelves[place]
        return touched

    def touched(self, filed: Filed) -> list[CallKey]:
        """The calls that may depend on what is filed here."""
        keys = filed.found_under()
        # an answer to a pause names no call, and a request tells whose it is
        paused = any(d.turn is not None for d in filed.decisions)
        broad = paused or (any(key[0] == "tool" for key in keys) and filed.call is None)
        refuses = any(
            d.decision not in ("approved", "edited", "requested") or d.turn is not None for d in filed.decisions
        )
        touched: list[CallKey] = []
        for shelf in self.of(filed.places):
            first = broad or (filed.decisions and shelf.answers <= {filed.key})  # decisions do reach us
            called = (shelf.all_calls(),) if first else (shelf.called(key, all_alike=refuses) for key in keys)
            for calls in called:
                touched += calls
        if any(d.scope == "always" for d in filed.decisions):
            for shelf in self.of((filed.always,)):
                touched += [call for key in keys for call in shelf.called(key)]
        return touched
