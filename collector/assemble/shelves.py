"""Where decisions and calls are filed, place by place, so that those about each other are found together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from trailhound.collector.assemble.crowds import MAX_LIKE, Crowd
from trailhound.collector.assemble.decisions import ANSWERS, Call, CallKey
from trailhound.evaluators.tools import bare_name
from trailhound.model import Approval

Place = tuple[str, str]
"""(tenant, `session:ID` or `trace:ID`), or (tenant, `always`): decisions count for the calls of the same place."""
Carrier = tuple[str, ...]
"""What told of decisions: (tenant, trace id, span id), or (tenant, `log`, hash) for a record without a span."""
Key = tuple[str, ...]
"""Under what a decision and a call find each other inside a place."""

MAX_FILED = 200_000
"""Decisions and calls that are remembered; beyond it the oldest go, which is counted."""


@dataclass(slots=True)
class Filed:
    """What one carrier told, or one call, and where it is filed."""

    key: Carrier | CallKey
    places: tuple[Place, ...]
    received_ns: int
    decisions: tuple[Approval, ...] = ()
    call: Call | None = None
    verdict: str = ""
    """Of a call: the last one given."""
    segment: int = 0
    """Journal segment in which it was filed first: a replay from there on files it again."""

    @property
    def always(self) -> Place:
        """The place of what holds in every session of the tenant."""
        return (self.key[0], "always")

    def keys(self) -> set[Key]:
        """Under which keys it is found."""
        if self.call is not None:
            return set(keys_of_call(self.call))
        return {key for decision in self.decisions for key in keys_of(decision)}


@dataclass(slots=True)
class Shelf:
    """What is filed in one place."""

    decisions: dict[Key, dict[Carrier, tuple[Approval, ...]]] = field(default_factory=dict)
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

    def remove(self, filed: Filed, keys: set[Key]) -> list[CallKey]:
        """Take it off; returns the calls that are compared instead."""
        self.answers.discard(filed.key)
        instead: list[CallKey | None] = []
        for key in keys:
            for shelved in (self.decisions, self.by_tool, self.calls):
                told = shelved.get(key)
                if told is not None:
                    instead.append(_pop(told, filed.key))
                    if not told:
                        del shelved[key]
        return [call for call in instead if call is not None]

    def called(self, key: Key) -> Iterable[CallKey]:
        """The calls that are compared, or asked again, under a key."""
        crowd = self.calls.get(key)
        return self.by_tool.get(key, ()) if crowd is None else crowd.first

    def all_calls(self) -> Iterator[CallKey]:
        for crowd in self.calls.values():
            yield from (*crowd.first, *crowd.later)
        for calls in self.by_tool.values():
            yield from calls

    def __bool__(self) -> bool:
        return bool(self.decisions or self.calls or self.by_tool or self.answers)


def _pop(told: Crowd | dict[Carrier, tuple[Approval, ...]] | dict[CallKey, Call], key: Carrier) -> CallKey | None:
    if isinstance(told, Crowd):
        return told.pop(key)  # type: ignore[arg-type]
    told.pop(key, None)  # type: ignore[arg-type]
    return None


class Shelves:
    """Everything that is filed. What is filed anew takes the place of what was filed under the same key."""

    def __init__(self) -> None:
        self._shelves: dict[Place, Shelf] = {}
        self.filed: OrderedDict[Carrier | CallKey, Filed] = OrderedDict()
        self.dropped = 0
        """How many were let go of before their time."""

    def of(self, filed: Filed) -> Iterator[Shelf]:
        """The shelves of its places."""
        return (self._shelves[place] for place in filed.places if place in self._shelves)

    def always(self, filed: Filed) -> Iterator[Shelf]:
        return (self._shelves[place] for place in (filed.always,) if place in self._shelves)

    def calls(self, place: Place, key: Key) -> Iterable[CallKey]:
        """The calls that are filed in a place under a key."""
        shelf = self._shelves.get(place)
        return () if shelf is None else shelf.called(key)

    def about(self, places: Iterable[Place]) -> list[Filed]:
        """Everything that is filed in these places, in the order in which it was filed."""
        shelves = [shelf for shelf in map(self._shelves.get, places) if shelf is not None]
        keys: set[Carrier | CallKey] = set()
        for shelf in shelves:
            keys.update(carrier for told in shelf.decisions.values() for carrier in told)
            keys.update(shelf.all_calls())
        return sorted((self.filed[key] for key in keys if key in self.filed), key=lambda f: (f.received_ns, f.key))

    def put(self, filed: Filed, trusted: tuple[Approval, ...] = ()) -> list[CallKey]:
        """File it; `trusted` are those of its decisions whose sender is trusted. Returns the calls it crowded out."""
        if len(self.filed) >= MAX_FILED:
            self.remove(next(iter(self.filed.values())))
            self.dropped += 1
        self.filed[filed.key] = filed
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
        wide = [d for d in filed.decisions if d.scope == "always" and d.tool is not None]
        if not wide and filed.call is None:
            return
        shelf = self._shelves.setdefault(filed.always, Shelf())
        for decision in wide:
            shelf.put_decision(("tool", bare_name(decision.tool or "")), filed.key, decision)
        if filed.call is not None:
            shelf.put_call(("tool", bare_name(filed.call.tool)), filed.call)

    def remove(self, filed: Filed) -> list[CallKey]:
        """Take it off its shelves; returns the calls that it may have mattered to."""
        touched = self.touched(filed)
        del self.filed[filed.key]
        keys = filed.keys() | ({("tool", bare_name(filed.call.tool))} if filed.call is not None else set())
        for place in (*filed.places, filed.always):
            shelf = self._shelves.get(place)
            if shelf is not None:
                touched += shelf.remove(filed, keys)
                if not shelf:
                    del self._shelves[place]
        return touched

    def touched(self, filed: Filed) -> list[CallKey]:
        """The calls that may depend on what is filed here."""
        keys = filed.keys()
        broad = any(key[0] in ("tool", "turn") for key in keys) and filed.call is None
        touched: list[CallKey] = []
        for shelf in self.of(filed):
            first = broad or (filed.decisions and shelf.answers <= {filed.key})  # decisions do reach us
            for calls in (shelf.all_calls(),) if first else map(shelf.called, keys):
                touched += calls
        if any(d.scope == "always" for d in filed.decisions):
            for shelf in self.always(filed):
                touched += [call for key in keys for call in shelf.called(key)]
        return touched


def keys_of_call(call: Call) -> Iterator[Key]:
    if call.call_id is not None:
        yield ("id", call.call_id)
    if call.arguments_hash is not None:
        yield ("arguments", bare_name(call.tool), call.arguments_hash)
    if call.call_id is None and call.arguments_hash is None:
        yield ("tool", bare_name(call.tool))


def keys_of(decision: Approval) -> Iterator[Key]:
    """Where a decision is found again: under its call id, its tool (by its bare name) with and without arguments,
    its place in a pause."""
    if decision.call_id is not None:
        yield ("id", decision.call_id)
    tool = bare_name(decision.tool) if decision.tool is not None else None
    if tool is not None and decision.arguments_hash is not None:
        yield ("arguments", tool, decision.arguments_hash)
    if tool is not None and decision.scope != "once":
        yield ("tool", tool)
    if decision.turn is not None and decision.decision != "requested":
        yield ("turn", str(decision.turn))
