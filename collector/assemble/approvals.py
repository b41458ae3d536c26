"""The index of approvals: which decisions there are about a high-risk call, in its session and in its traces."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.decisions import Judge
from trailhound.collector.assemble.filed import CallKey, Carrier, Filed, Place, Seen
from trailhound.collector.assemble.records import TraceKey
from trailhound.collector.assemble.shares import Shares
from trailhound.collector.assemble.shelves import Shelves
from trailhound.collector.assemble.words import is_wide_blank
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import bare_name
from trailhound.model import ApprovalVerdict, ToolCall

GOOD = frozenset({"approved", "policy"})
SLACK_NS = 86_400_000_000_000
"""Things are remembered a day longer than decisions are good for: spans may come late."""


class ApprovalIndex:
    """Joins decisions and calls by call id, or by tool and arguments, inside one session and inside the traces of a run.

    Everything is filed under who told it, so that it can be told again, otherwise or in another session.
    """

    def __init__(self, settings: Settings) -> None:
        self._judge = Judge(settings)
        self._keep_ns = int(settings.keep * 1e9) + SLACK_NS
        self._shelves = Shelves()
        self._shares = Shares(self._shelves, self._judge.trusts_service, self._judge.counts)

    def learn(self, filed: Filed) -> list[CallKey]:
        """File what a carrier told (nothing: forget it); returns the calls whose verdict may have changed."""
        before = self.filed(filed.key)
        if before is not None and _told(before) == _told(filed):
            return []
        touched = self._remove(before) if before is not None else []
        filed.segment = before.segment if before is not None else filed.segment
        if filed.decisions:
            self._shelves.put(filed, tuple(d for d in filed.decisions if self._judge.trusts_service(d)))
            self._shares.renew()
            touched += self._touched(filed)
        return list(dict.fromkeys(touched))

    def add(self, filed: Filed) -> list[CallKey]:
        """File a call; returns the calls, this one among them, whose verdict may have changed."""
        call, before = filed.call, self.filed(filed.key)
        assert call is not None
        touched: list[CallKey] = []
        if before is not None and _is_same(before, filed):  # as of every run that comes back from the store
            return [call.key]
        if before is not None:
            filed.verdict, filed.seen, filed.segment = before.verdict, before.seen, before.segment
            touched = self._remove(before)
        crowded_out = self._shelves.put(filed)
        self._shares.renew()
        named = bool(self._naming(filed))  # then it takes what names it, and leaves to all others what does not
        touched += [c.key for c in self._shares.rivals(filed) if named or c.order >= call.order]
        return list(dict.fromkeys([call.key, *touched, *crowded_out, *self._like_named(filed)]))

    def forget(self, key: CallKey) -> list[CallKey]:
        """The call turned out to be none; returns the calls whose verdict may have changed."""
        before = self.filed(key)
        return self._remove(before) if before is not None else []

    def _remove(self, filed: Filed) -> list[CallKey]:
        """Take it off its shelves; returns the calls that it may have mattered to."""
        rivals = [each.key for each in self._shares.rivals(filed)] if filed.call is not None else []
        touched = self._touched(filed) + self._like_named(filed)
        touched += [*rivals, *self._shelves.remove(filed)]
        self._shares.renew()
        return [key for key in touched if key != filed.key]

    def _touched(self, filed: Filed) -> list[CallKey]:
        """The calls that what is filed here may matter to, directly or by what others leave."""
        reached = (call.key for call in self._shares.reached(filed)) if filed.decisions else ()
        touched = self._with_rivals([*self._shelves.touched(filed), *reached])
        if not filed.decisions or self._shelves.asks(filed):
            return touched
        first_ns = min(decision.decided_ns for decision in filed.decisions)
        return [key for key in touched if not self._is_settled(key, first_ns)]

    def _is_settled(self, key: CallKey, from_ns: int) -> bool:
        """Whether a call was approved by what was decided before it began, which nothing decided since `from_ns` changes:
        it neither counts for the call nor for those before it, which are served first."""
        filed = self._shelves.filed.get(key)
        if filed is None or filed.call is None or filed.verdict is None:
            return False
        return filed.call.start_ns < from_ns and filed.verdict.verdict in GOOD

    def _naming(self, filed: Filed) -> list[Filed]:
        """Who told of decisions that name this call by its id."""
        call_id = None if filed.call is None else filed.call.call_id
        key = ("id", call_id or "")
        return [self._shelves.filed[carrier] for place in filed.places for carrier in self._shelves.told(place, key)]

    def _like_named(self, filed: Filed) -> list[CallKey]:
        """The calls that a decision of wider scope covers which names this call alone, because they are like it."""
        naming = (told for told in self._naming(filed) if any(map(is_wide_blank, told.decisions)))
        return [call for told in naming for call in self._shelves.touched(told)]

    def _with_rivals(self, touched: list[CallKey]) -> list[CallKey]:
        """And the calls that share approvals with them."""
        found = dict.fromkeys(touched)
        calls = (self._shelves.filed.get(key) for key in list(found))
        for rival in self._shares.rivals_of(filed for filed in calls if filed is not None and filed.call is not None):
            found[rival.key] = None
        return list(found)

    def filed(self, key: Carrier | CallKey) -> Filed | None:
        return self._shelves.filed.get(key)

    def about(self, places: Iterable[Place]) -> list[Filed]:
        """Everything that is filed in these places."""
        return self._shelves.about(places)

    @property
    def any_loose(self) -> bool:
        """Whether any record names nothing but its trace."""
        return bool(self._shelves.loose)

    def loose(self, trace: TraceKey) -> list[Filed]:
        """What records told that name this trace alone."""
        return [self._shelves.filed[key] for key in self._shelves.loose.get(trace, ())]

    def alike(self, place: Place, call: ToolCall) -> list[CallKey]:
        """The calls filed in a place that have the id of `call`, or its tool and arguments."""
        keys = ("id", call.call_id or ""), ("arguments", bare_name(call.name), call.arguments_hash or "")
        return [found for key in keys for found in self._shelves.calls(place, key)]

    def verdict(self, key: CallKey, seen: Seen) -> ApprovalVerdict:
        """The verdict on a filed call, by what is known now and by what its run shows of it."""
        filed = self._shelves.filed[key]
        verdict = self._judge.verdict(filed, self._shares.known(filed), shown=seen.shown, cut=seen.cut)
        if seen.refused and verdict.verdict != "denied":
            return ApprovalVerdict("denied", None, f"{key[1]}/{key[2]}")
        return verdict

    def expire(self, now_ns: int) -> None:
        """Let go of what is remembered long enough."""
        while self._shelves.filed:
            oldest = next(iter(self._shelves.filed.values()))
            if oldest.received_ns + self._keep_ns > now_ns:
                return
            self._shelves.remove(oldest)
            self._shares.renew()

    @property
    def dropped(self) -> int:
        """How many were let go of before their time, because there were too many."""
        return self._shelves.dropped

    def __len__(self) -> int:
        return len(self._shelves.filed)


def _told(filed: Filed) -> tuple[object, ...]:
    return (filed.decisions, filed.places, filed.user)


def _is_same(before: Filed, filed: Filed) -> bool:
    """Whether a call is filed already as it is."""
    return (before.call, before.places, before.user) == (filed.call, filed.places, filed.user)
