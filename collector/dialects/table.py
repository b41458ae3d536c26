"""The one table of attribute keys, merged from all dialects: a span's attributes are passed over once, whatever it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trailhound.collector.dialects.base import Dialect, KindOf, Refine, Seen
from trailhound.collector.dialects.coerce import REDACTED
from trailhound.model import Span

MAX_INDEX = 10_000
"""Highest index of a flattened list that is read: the index is in the key, so a sender chooses it."""
_LONGEST_REDACTED = max(map(len, REDACTED))
_MEMO_SIZE = 16_384
"""Distinct keys whose meaning is remembered; flattened keys make many."""


@dataclass(frozen=True, slots=True)
class Key:
    """What one attribute key means. Most keys hold one fact; a key nobody knows holds none."""

    bits: int = 0
    """The dialects that it tells."""
    fact: str = ""
    rank: int = 0
    """Among the keys of the same fact the lowest wins."""
    values: Mapping[str, Any] | None = None
    """For a key that tells the kind: value -> kind."""
    only: int = 0
    """The dialects whose scope a span must have for the key to count: a key without a dot may be anybody's."""
    flat: str = ""
    place: tuple[int, str] = (0, "")


class KeyTable:
    """Knows every key of every dialect, and learns the flattened and unknown ones as they come."""

    def __init__(self, dialects: list[Dialect]) -> None:
        self._dialects = sorted(dialects, key=lambda d: d.order)
        self._bits = {d.name: 1 << i for i, d in enumerate(self._dialects)}
        self._ranks = _ranks(self._dialects)
        self._kinds = {key: (d.kind_order, kinds) for d in self._dialects for key, kinds in d.kinds.items()}
        self._flat = {prefix: name for d in self._dialects for prefix, name in d.flat.items()}
        self._keys: dict[str, Key] = {}
        self._scopes: dict[str, int] = {}
        self._recording: dict[tuple[int, str], bool] = {}
        self._unread: dict[str, tuple[str, ...]] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._refiners: dict[int, list[Refine]] = {}

    def see(self, span: Span) -> Seen:
        """The facts in the span's attributes."""
        seen = Seen(span)
        bits = self._scopes.get(span.scope.name)
        if bits is None:
            bits = self._learn_scope(span.scope.name)
        seen.dialects = bits
        self.gather(span.attributes, seen)
        return seen

    def gather(self, attributes: Mapping[str, Any], seen: Seen) -> None:
        """Add to `seen` the facts of `attributes` that are not known yet, and the dialects that the keys tell."""
        known, facts, bits, scope = self._keys, seen.facts, 0, seen.dialects
        ranks: dict[str, int] = {}
        for name, value in attributes.items():
            key = known.get(name)
            if key is None:
                key = self._learn(name)
            bits |= key.bits
            fact = key.fact
            if not fact:
                if key.flat:
                    seen.flat.setdefault(key.flat, []).append((key.place, value))
                continue
            if key.values is not None:
                value = key.values.get(value) if value.__class__ is str else None
            if value is None or (key.only and not key.only & scope):
                continue
            if value.__class__ is str and len(value) <= _LONGEST_REDACTED and (not value or value in REDACTED):
                continue
            if fact in facts and ranks.get(fact, -1) <= key.rank:
                continue
            facts[fact] = value
            ranks[fact] = key.rank
        seen.dialects |= bits

    def unread(self, name: str) -> tuple[str, ...]:
        """The dialects in whose name space the attribute `name` is, when no reader knows it; () when one does."""
        found = self._unread.get(name)
        if found is None:
            if len(self._unread) >= _MEMO_SIZE:
                self._unread.clear()
            key = self._meaning(name)
            known = bool(key.fact or key.flat) or any(name in d.keys or name in d.ignored for d in self._dialects)
            found = self._unread[name] = () if known else self.names(key.bits)
        return found

    def names(self, bits: int) -> tuple[str, ...]:
        """Names of the dialects in a bit mask, in order."""
        names = self._names.get(bits)
        if names is None:
            names = self._names[bits] = tuple(d.name for d in self._dialects if self._bits[d.name] & bits)
        return names

    def refiners(self, bits: int) -> list[Refine]:
        found = self._refiners.get(bits)
        if found is None:
            found = [d.refine for d in self._dialects if d.refine is not None and self._bits[d.name] & bits]
            self._refiners[bits] = found
        return found

    def kind_by_name(self, bits: int, name: str) -> KindOf | None:
        """What a dialect in `bits` says of a span named `name`."""
        for dialect in self._dialects:
            if dialect.names and self._bits[dialect.name] & bits:
                for known, kind in dialect.names.items():
                    if name == known or (known.endswith(" ") and name.startswith(known)):
                        return kind
        return None

    def records_tools(self, bits: int, scope: str) -> bool:
        """Whether a dialect in `bits` says that the instrumentation `scope` gives every tool a span."""
        found = self._recording.get((bits, scope))
        if found is None:
            if len(self._recording) >= _MEMO_SIZE:
                self._recording.clear()
            asked = [d.records_tools for d in self._dialects if self._bits[d.name] & bits]
            found = self._recording[bits, scope] = any(records(scope) for records in asked if records is not None)
        return found

    def _learn(self, name: str) -> Key:
        if len(self._keys) >= _MEMO_SIZE:
            self._keys.clear()
        self._keys[name] = key = self._meaning(name)
        return key

    def _meaning(self, name: str) -> Key:
        bits = sum(self._bits[d.name] for d in self._dialects if _told_by(name, d.keys))
        if name in self._kinds:
            rank, values = self._kinds[name]
            return Key(bits, "kind", rank, values)
        if name in self._ranks:
            fact, rank = self._ranks[name]
            return Key(bits, fact, rank, only=0 if "." in name else self._owners(name))
        for prefix, flat in self._flat.items():
            if name.startswith(prefix):
                index, _, rest = name[len(prefix) :].partition(".")
                if index.isascii() and index.isdecimal() and len(index) <= 5 and int(index) <= MAX_INDEX:
                    return Key(bits, flat=flat, place=(int(index), rest))
        return Key(bits)

    def _owners(self, name: str) -> int:
        return sum(self._bits[d.name] for d in self._dialects if any(name in keys for keys in d.fields.values()))

    def _learn_scope(self, scope: str) -> int:
        if len(self._scopes) >= _MEMO_SIZE:
            self._scopes.clear()
        bits = sum(self._bits[d.name] for d in self._dialects if _told_by(scope, d.scopes))
        self._scopes[scope] = bits
        return bits


def _ranks(dialects: list[Dialect]) -> dict[str, tuple[str, int]]:
    """key -> (fact, rank); a key that two dialects use for the same fact keeps its better rank."""
    ranks: dict[str, tuple[str, int]] = {}
    for dialect in dialects:
        for fact, keys in dialect.fields.items():
            for place, key in enumerate(keys):
                ranks.setdefault(key, (fact, dialect.order * 100 + place))
    return ranks


def _told_by(name: str, marks: tuple[str, ...]) -> bool:
    return any(name == mark or (mark.endswith(".") and name.startswith(mark)) for mark in marks)
