"""The one table of attribute keys, merged from all dialects: a span's attributes are passed over once, whatever it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trailhound.collector.dialects import guessed
from trailhound.collector.dialects.base import Dialect, KindOf, Refine, Seen, instruments
from trailhound.collector.dialects.coerce import REDACTED
from trailhound.model import Span

MAX_INDEX = 10_000
"""Highest index of a flattened list that is read: the index is in the key, so a sender chooses it."""
_LONGEST_REDACTED = max(map(len, REDACTED))
_MEMO_SIZE = 16_384
"""Distinct keys whose meaning is remembered; flattened keys make many."""
MAX_PLANNED = 48
"""Attributes of a span that is read by a plan: more are flattened lists, whose keys hardly ever come together again."""
_PLANS = 2048


@dataclass(frozen=True, slots=True)
class Plan:
    """What a set of attribute keys under one scope says, worked out once for all spans that have it."""

    dialects: int
    kinds: tuple[tuple[str, Mapping[str, KindOf]], ...]
    """(key, what its values say) of those that tell the kind; here and below the most trusted first."""
    single: tuple[tuple[str, str], ...]
    """(fact, key) of the facts that one key holds: nearly all."""
    chosen: tuple[tuple[str, tuple[str, ...]], ...]
    """(fact, keys) of the others."""
    flat: tuple[tuple[str, tuple[int, str], str], ...]
    """(name of a flattened list, place in it, key)."""


@dataclass(frozen=True, slots=True)
class Voice:
    """What dialects, together, and the instrumentation of one scope say of every span of theirs."""

    dialects: tuple[str, ...]
    records_tools: bool
    """Whether the instrumentation gives every executed tool a span."""
    refiners: tuple[Refine, ...]
    names: tuple[tuple[str, KindOf], ...]
    """Names of spans that tell their kind, as in `Dialect.names`."""
    instrumentation: str
    """The scope's name; where something on the way took it off, what the conventions together tell instead."""

    def kind(self, name: str) -> KindOf | None:
        """The kind of a span of this name."""
        for known, kind in self.names:
            if name == known or (known.endswith(" ") and name.startswith(known)):
                return kind
        return None


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
    bare: str = ""
    """The fact that such a key most likely holds in a span of any other scope."""
    flat: str = ""
    place: tuple[int, str] = (0, "")


class KeyTable:
    """Knows every key of every dialect, and learns the flattened and unknown ones as they come."""

    def __init__(self, dialects: list[Dialect]) -> None:
        self._dialects = sorted(dialects, key=lambda d: d.order)
        self._bits = {d.name: 1 << i for i, d in enumerate(self._dialects)}
        self._ranks = _ranks(self._dialects)
        self._kinds = _kinds(self._dialects)
        self._flat = {prefix: name for d in self._dialects for prefix, name in d.flat.items()}
        self._keys: dict[str, Key] = {}
        self._plans: dict[tuple[str, ...], Plan] = {}
        """By scope and attribute keys."""
        self._scopes: dict[str, int] = {}
        self._voices: dict[tuple[int, str], Voice] = {}
        self._unread: dict[str, tuple[str, ...]] = {}

    def see(self, span: Span) -> Seen:
        """The facts in the span's attributes."""
        attributes = span.attributes
        if len(attributes) > MAX_PLANNED:
            seen = Seen(span, {}, {}, self._scope_bits(span.scope.name))
            self.gather(attributes, seen)
            return seen
        keys = (span.scope.name, *attributes)
        plan = self._plans.get(keys) or self._learn_plan(keys)
        facts: dict[str, Any] = {}
        for fact, name in plan.single:
            value = attributes[name]
            if value.__class__ is str:
                if len(value) <= _LONGEST_REDACTED and (not value or value in REDACTED):
                    continue
            elif value is None:
                continue
            facts[fact] = value
        for name, kinds in plan.kinds:
            value = attributes[name]
            if value.__class__ is str and (kind := kinds.get(value)) is not None:
                facts["kind"] = kind
                break
        for fact, names in plan.chosen:
            value = _first_said(attributes, names)
            if value is not None:
                facts[fact] = value
        flat: dict[str, list[tuple[tuple[int, str], Any]]] = {}
        for whole, place, name in plan.flat:
            flat.setdefault(whole, []).append((place, attributes[name]))
        return Seen(span, facts, flat, plan.dialects)

    def _learn_plan(self, keys: tuple[str, ...]) -> Plan:
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        plan = self._plans[keys] = self._plan(self._scope_bits(keys[0]), keys[1:])
        return plan

    def _plan(self, scope: int, names: tuple[str, ...]) -> Plan:
        bits = scope
        kinds: list[tuple[int, str, Mapping[str, KindOf]]] = []
        facts: dict[str, list[tuple[int, str]]] = {}
        flat = []
        for name in names:
            key = self._keys.get(name) or self._learn(name)
            bits |= key.bits
            if key.values is not None:
                kinds.append((key.rank, name, key.values))
            elif key.fact:
                fact, rank = (key.fact, key.rank) if not key.only or key.only & scope else (key.bare, guessed.RANK)
                if fact:
                    facts.setdefault(fact, []).append((rank, name))
            elif key.flat:
                flat.append((key.flat, key.place, name))
        kinds.sort(key=lambda known: known[0])
        held = [(fact, tuple(name for _, name in sorted(keys))) for fact, keys in facts.items()]
        return Plan(
            bits,
            tuple((name, values) for _, name, values in kinds),
            tuple((fact, keys[0]) for fact, keys in held if len(keys) == 1),
            tuple((fact, keys) for fact, keys in held if len(keys) > 1),
            tuple(flat),
        )

    def _scope_bits(self, scope: str) -> int:
        bits = self._scopes.get(scope)
        return self._learn_scope(scope) if bits is None else bits

    def gather(self, attributes: Mapping[str, Any], seen: Seen) -> None:
        """Add to `seen` the facts of `attributes` that are not known yet, and the dialects that the keys tell."""
        known, facts, bits, scope = self._keys, seen.facts, 0, seen.dialects
        ranks: dict[str, int] = {}
        for name, value in attributes.items():
            key = known.get(name)
            if key is None:
                key = self._learn(name)
            bits |= key.bits
            fact, rank = key.fact, key.rank
            if key.only and not key.only & scope:
                fact, rank = key.bare, guessed.RANK
            if not fact:
                if key.flat:
                    seen.flat.setdefault(key.flat, []).append((key.place, value))
                continue
            if key.values is not None:
                value = key.values.get(value) if value.__class__ is str else None
            if value is None:
                continue
            if value.__class__ is str and len(value) <= _LONGEST_REDACTED and _says_nothing(value):
                continue
            if fact in facts and ranks.get(fact, -1) <= rank:
                continue
            facts[fact] = value
            ranks[fact] = rank
        seen.dialects |= bits

    def unread(self, name: str) -> tuple[str, ...]:
        """The dialects in whose name space the attribute `name` is, when no reader knows it; () when one does."""
        found = self._unread.get(name)
        if found is None:
            if len(self._unread) >= _MEMO_SIZE:
                self._unread.clear()
            key = self._meaning(name)
            known = (bool(key.fact or key.flat) and key.rank < guessed.RANK) or any(
                name in d.keys or name in d.ignored for d in self._dialects
            )
            found = self._unread[name] = () if known else self.names(key.bits)
        return found

    def names(self, bits: int) -> tuple[str, ...]:
        """Names of the dialects in a bit mask, in order."""
        return tuple(d.name for d in self._told(bits))

    def _told(self, bits: int) -> list[Dialect]:
        return [d for d in self._dialects if self._bits[d.name] & bits]

    def voice(self, bits: int, scope: str) -> Voice:
        """What the dialects in `bits` and the instrumentation `scope` say of every span."""
        return self._voices.get((bits, scope)) or self._learn_voice(bits, scope)

    def _learn_voice(self, bits: int, scope: str) -> Voice:
        if len(self._voices) >= _MEMO_SIZE:
            self._voices.clear()
        told = self._told(bits)
        records = any(d.records_tools(scope) for d in told if d.records_tools is not None)
        refiners = tuple(d.refine for d in told if d.refine is not None)
        names = tuple(item for d in told for item in d.names.items())
        voice = self._voices[bits, scope] = Voice(
            self.names(bits), records, refiners, names, scope or "+".join(self.names(bits))
        )
        return voice

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
            bare = "" if "." in name else guessed.fact_of(name)
            return Key(bits, fact, rank, only=0 if "." in name else self._owners(name), bare=bare)
        for prefix, flat in self._flat.items():
            if name.startswith(prefix):
                index, _, rest = name[len(prefix) :].partition(".")
                if index.isascii() and index.isdecimal() and len(index) <= 5 and int(index) <= MAX_INDEX:
                    return Key(bits, flat=flat, place=(int(index), rest))
        return Key(bits, guessed.fact_of(name), guessed.RANK)

    def _owners(self, name: str) -> int:
        return sum(self._bits[d.name] for d in self._dialects if any(name in keys for keys in d.fields.values()))

    def _learn_scope(self, scope: str) -> int:
        if len(self._scopes) >= _MEMO_SIZE:
            self._scopes.clear()
        bits = sum(self._bits[d.name] for d in self._dialects if _told_by(scope, d.scopes))
        self._scopes[scope] = bits
        return bits


def _kinds(dialects: list[Dialect]) -> dict[str, tuple[int, dict[str, KindOf]]]:
    """key -> (rank, value -> kind); what several dialects say of one key is put together."""
    kinds: dict[str, tuple[int, dict[str, KindOf]]] = {}
    for dialect in dialects:
        for key, values in dialect.kinds.items():
            rank, known = kinds.get(key, (dialect.kind_order, {}))
            kinds[key] = (min(rank, dialect.kind_order), {**values, **known})
    return kinds


def _ranks(dialects: list[Dialect]) -> dict[str, tuple[str, int]]:
    """key -> (fact, rank); a key that two dialects use for the same fact keeps its better rank."""
    ranks: dict[str, tuple[str, int]] = {}
    for dialect in dialects:
        for fact, keys in dialect.fields.items():
            for place, key in enumerate(keys):
                ranks.setdefault(key, (fact, dialect.order * 100 + place))
    return ranks


def _says_nothing(value: str) -> bool:
    return not value or value in REDACTED


def _first_said(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The value of the first of `names` that has one."""
    for name in names:
        value = attributes[name]
        if value is not None and not (value.__class__ is str and _says_nothing(value)):
            return value
    return None


def _told_by(name: str, marks: tuple[str, ...]) -> bool:
    return any(
        name == mark
        or (mark.endswith(".") and name.startswith(mark))
        or (mark.startswith("*") and instruments(name, mark[1:]))
        for mark in marks
    )
