"""Calls that no span shows: whether one ran, and the step that stands for it, read out of the messages of models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trailhound.collector.assemble.failed import FailedAgents
from trailhound.collector.assemble.known import Known, asked_at, is_transfer, made_of
from trailhound.collector.assemble.unread import UnreadAnswers
from trailhound.collector.dialects import unnamed
from trailhound.model import Step


class UnseenCalls:
    """A call is synthesised only where nothing in the run records tools: there, a request whose response a later model
    call was given did run. Where tools have spans of their own, a request without a span did not run.
    """

    __slots__ = ("_failed", "_known", "_unread", "allowed", "hand_overs", "made", "recorded")

    def __init__(self, known: Mapping[str, Known]) -> None:
        """`known` is the live index of what is known by call id."""
        self._known = known
        self._failed, self._unread = FailedAgents(), UnreadAnswers()
        self.made: dict[str, Step] = {}
        """By call id."""
        self.allowed = False
        """Whether any call was let through."""
        self.hand_overs = 0
        self.recorded = False
        """Whether anything in the run records tools."""

    @property
    def possible(self) -> bool:
        return bool(not self.recorded or self.hand_overs or self.allowed or self.made)

    def of(self, model: Step) -> list[Step]:
        """Those that were read out of one model call."""
        if not self.made:
            return []
        return [
            self.made[c.call_id]
            for c in (*model.tool_requests, *model.tool_responses)
            if c.call_id in self.made and (told := self._known[c.call_id].told) and told[0] is model
        ]

    def add_failed(self, step: Step) -> list[str]:
        """Take a container; returns the ids of calls that may have ended with it."""
        return [c for c in self.made if self._known[c].given is None] if self._failed.add(step) else []

    def add_cut(self, model: Step) -> list[str]:
        """Take a model call whose messages were cut; returns the ids of calls that it may have been given the result of."""
        self._unread.add(model)
        return [call_id for call_id, made in self.made.items() if made.status == "open"]

    def remove(self, step: Step) -> None:
        self._failed.remove(step)
        self._unread.remove(step)

    def calls(self, call_ids: Iterable[str]) -> Iterator[tuple[Step | None, Step | None]]:
        """(step that stood for it, step that stands for it now) of each of these calls, in order."""
        for call_id in call_ids:
            known, old = self._known[call_id], self.made.pop(call_id, None)
            new = None
            if known.told is not None and self._ran(known):
                open_ended = known.asked if known.asked_by and not known.given else None
                asked_by = known.asked_by if open_ended else None
                failed = self._failed.over(asked_by, open_ended) if asked_by and open_ended else None
                unread = self._unread.after(asked_by) if asked_by else None
                new = self.made[call_id] = made_of(call_id, known, failed, unread, handed_over=self.recorded)
            yield old, new

    def _ran(self, known: Known) -> bool:
        """Whether a call without a span is known to have run."""
        if known.spans or _is_repeated(known):
            return False
        if not self.recorded or (known.allowed and known.given is not None):
            return True
        if not self.hand_overs or not is_transfer(known):
            return False
        transfers = sorted(filter(is_transfer, self._known.values()), key=asked_at)
        return any(other is known for other in transfers[: self.hand_overs])


def _is_repeated(known: Known) -> bool:
    """Whether a call without an id is told by a span that wraps, or repeats, the model call that counts: that tells it too."""
    return known.told is not None and not known.told[0].counted and unnamed.is_ours(known.told[0], known.told[1])
