"""The index of approvals: which decisions there are about a high-risk call, in its session and in its traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from trailhound.collector.assemble.decisions import Call, CallKey, Judge, Known, unique
from trailhound.collector.assemble.shelves import Carrier, Filed, Key, Place, Shelf, Shelves, keys_of_call
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import bare_name, is_one_tool
from trailhound.model import Approval, ApprovalVerdict, ToolCall

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

    def learn(self, filed: Filed) -> list[CallKey]:
        """File what a carrier told (nothing: forget it); returns the calls whose verdict may have changed."""
        before = self.filed(filed.key)
        if before is not None and (before.decisions, before.places) == (filed.decisions, filed.places):
            return []
        touched = self._shelves.remove(before) if before is not None else []
        filed.segment = before.segment if before is not None else filed.segment
        if filed.decisions:
            self._shelves.put(filed, tuple(d for d in filed.decisions if self._judge.trusts_service(d)))
            touched += self._shelves.touched(filed)
        return self._with_alike(touched)

    def add(self, filed: Filed) -> list[CallKey]:
        """File a call; returns the calls, this one among them, whose verdict may have changed."""
        call, before = filed.call, self.filed(filed.key)
        assert call is not None
        touched = self._shelves.remove(before) if before is not None else []
        if before is not None:
            filed.verdict, filed.segment = filed.verdict or before.verdict, before.segment
        touched += self._shelves.put(filed)
        like = [c for key in keys_of_call(call) for c in self._like(filed, key) if c.order >= call.order]
        return list(dict.fromkeys([call.key, *touched, *(c.key for c in like)]))

    def forget(self, key: CallKey) -> list[CallKey]:
        """The call turned out to be none; returns the calls whose verdict may have changed."""
        before = self.filed(key)
        return self._with_alike(self._shelves.remove(before)) if before is not None else []

    def _with_alike(self, touched: list[CallKey]) -> list[CallKey]:
        """And the calls alike: what names one of them leaves the others what names none."""
        found = dict.fromkeys(touched)
        for key in list(found):
            filed = self._shelves.filed.get(key)
            if filed is not None and filed.call is not None and filed.call.call_id is not None:
                found.update((c.key, None) for k in keys_of_call(filed.call) for c in self._like(filed, k))
        return list(found)

    def filed(self, key: Carrier | CallKey) -> Filed | None:
        return self._shelves.filed.get(key)

    def about(self, places: Iterable[Place]) -> list[Filed]:
        """Everything that is filed in these places."""
        return self._shelves.about(places)

    def alike(self, place: Place, call: ToolCall) -> list[CallKey]:
        """The calls filed in a place that have the id of `call`, or its tool and arguments."""
        keys = ("id", call.call_id or ""), ("arguments", bare_name(call.name), call.arguments_hash or "")
        return [found for key in keys for found in self._shelves.calls(place, key)]

    def verdict(self, key: CallKey, *, shown: bool, cut: bool = False, altered: bool = False) -> ApprovalVerdict:
        """The verdict on a filed call, by what is known now; the rest as in `Judge.verdict`."""
        filed = self._shelves.filed[key]
        assert filed.call is not None
        known = self._known(filed, filed.call)
        return self._judge.verdict(filed.call, known, shown=shown, cut=cut, altered=altered)

    def expire(self, now_ns: int) -> None:
        """Let go of what is remembered long enough."""
        while self._shelves.filed:
            oldest = next(iter(self._shelves.filed.values()))
            if oldest.received_ns + self._keep_ns > now_ns:
                return
            self._shelves.remove(oldest)

    @property
    def dropped(self) -> int:
        """How many were let go of before their time, because there were too many."""
        return self._shelves.dropped

    def __len__(self) -> int:
        return len(self._shelves.filed)

    # ------------------------------------------------------------ what is known of a call

    def _known(self, filed: Filed, call: Call) -> Known:
        id_key, args_key = ("id", call.call_id or ""), ("arguments", bare_name(call.tool), call.arguments_hash or "")
        by_id = self._find(filed, id_key) if self._is_compared(filed, id_key) else []
        by_arguments = self._find(filed, args_key) if self._is_compared(filed, args_key) else []
        loose = [d for d in by_arguments if d.call_id is None or call.call_id is None]
        asked = [d for d in (*by_id, *loose) if d.turn is not None and d.decision == "requested"]
        loose += [answer for request in asked for answer in self._answers_to(filed, request)]
        shelves = (*self._shelves.of(filed), *self._shelves.always(filed))
        wide = self._unique(d for shelf in shelves for d in _on(shelf, ("tool", bare_name(call.tool))))
        return Known(
            by_id,
            self._unique(loose),
            [d for d in wide if self._covers(filed, d, call)],
            self._like(filed, id_key) if call.call_id is not None else [],
            self._unnamed(filed, args_key, call) if loose else [],
            any(shelf.answers for shelf in self._shelves.of(filed)),
        )

    def _unique(self, decisions: Iterable[Approval]) -> list[Approval]:
        return unique(decisions, self._judge.trusts_service)

    def _find(self, filed: Filed, key: Key) -> list[Approval]:
        return self._unique(d for shelf in self._shelves.of(filed) for d in _on(shelf, key))

    def _like(self, filed: Filed, key: Key) -> list[Call]:
        found = {
            c.key: c for shelf in self._shelves.of(filed) if key in shelf.calls for c in shelf.calls[key].first.values()
        }
        return list(found.values())

    def _is_compared(self, filed: Filed, key: Key) -> bool:
        """Whether a call has such a key and is none of too many alike in any of its places: decisions about those cover
        the earliest only, as what became of the approvals between them is not followed."""
        crowds = [shelf.calls[key] for shelf in self._shelves.of(filed) if key in shelf.calls]
        return bool(crowds) and all(filed.key in crowd.first for crowd in crowds)

    def _unnamed(self, filed: Filed, key: Key, call: Call) -> list[Call]:
        """Calls alike that must share the decisions on their arguments, as none names them by their id."""
        return [
            c
            for c in self._like(filed, key)
            if c.key == call.key or c.call_id is None or not self._find(filed, ("id", c.call_id))
        ]

    def _covers(self, filed: Filed, wide: Approval, call: Call) -> bool:
        """Whether a decision of wider scope is about these arguments: what it names by id is one call's arguments."""
        if wide.tool is not None and not is_one_tool(wide.tool, call.tool):
            return False
        if wide.call_id is None or wide.arguments_hash is not None:
            return wide.arguments_hash in (None, call.arguments_hash)
        named = self._like(filed, ("id", wide.call_id))
        return any(c.arguments_hash == call.arguments_hash and is_one_tool(c.tool, call.tool) for c in named)

    def _answers_to(self, filed: Filed, request: Approval) -> list[Approval]:
        """The answer to a request of a pause: the first after it in its place among the answers."""
        after = [
            answer
            for answer in self._find(filed, ("turn", str(request.turn)))
            if answer.decided_ns >= request.decided_ns and answer.pause_id in (None, request.pause_id)
        ]
        first = min(after, key=lambda a: (a.decided_ns, a.trace_id, a.span_id), default=None)
        if first is None:
            return []
        edited = first.decision == "edited" and first.arguments_hash != request.arguments_hash
        decision = "cancelled" if edited else first.decision  # it is approved as it became, and filed so
        return [replace(first, decision=decision, tool=request.tool, arguments_hash=request.arguments_hash)]


def _on(shelf: Shelf, key: Key) -> Iterator[Approval]:
    for told in shelf.decisions.get(key, {}).values():
        yield from told
