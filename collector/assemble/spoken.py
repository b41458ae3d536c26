"""What was said in some places about a tool, a call or its arguments: the words there, and the answers to those that ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from trailhound.collector.assemble.filed import Filed, Key, Place
from trailhound.collector.assemble.shelves import Shelves
from trailhound.collector.assemble.words import Said, Word, every_field, words_of
from trailhound.model import Approval


class Spoken:
    """Reads decisions off the shelves."""

    def __init__(self, shelves: Shelves, trusts: Callable[[Approval], bool]) -> None:
        self._shelves, self._trusts = shelves, trusts

    def words(self, places: Iterable[Place], *keys: Key, anywhere: bool = False) -> list[Word]:
        """What is told under these keys, one word for each decision."""
        return words_of(self._said(list(places), keys), self._trusts, anywhere=anywhere)

    def nameless(self, places: Iterable[Place], key: Key) -> list[Word]:
        """As `words`, of the decisions that name no call id."""
        return words_of((s for s in self._said(list(places), (key,)) if s[1].call_id is None), self._trusts)

    def _said(self, places: list[Place], keys: Iterable[Key]) -> Iterator[Said]:
        for key in keys:
            found = {c: told for shelf in self._shelves.of(places) for c, told in shelf.decisions.get(key, {}).items()}
            yield from ((self._shelves.filed[carrier], d) for carrier, told in found.items() for d in told)

    def asking(self, places: Iterable[Place]) -> list[Filed]:
        """Who asks in a pause, in these places."""
        carriers = {c: None for shelf in self._shelves.of(places) for told in shelf.decisions.values() for c in told}
        return [
            filed for filed in map(self._shelves.filed.__getitem__, carriers) if any(map(asks_in_turn, filed.decisions))
        ]

    def unasked(self, trace: Place, places: Sequence[Place]) -> list[Approval]:
        """The first answers to pauses, told in a trace, of those that are trusted and answer no request in `places`."""
        answers = [word for word in self.words((trace,), ("turn", "0")) if word.trusted]
        asking = self.asking(places) if answers else []
        return [word.approval for word in answers if not any(self._asks(request, word) for request in asking)]

    @staticmethod
    def _asks(filed: Filed, answer: Word) -> bool:
        said = answer.approval
        asked = (d for d in filed.decisions if asks_in_turn(d) and d.decided_ns <= said.decided_ns)
        return any(said.pause_id in (None, request.pause_id) for request in asked)

    def about(self, places: Iterable[Place], key: Key) -> list[Word]:
        """As `words`, with the answers to those that ask in a pause: such an answer names no call."""
        words = self.words(places, key)
        return [*words, *(answer for word in words if asks_in_turn(word.approval) for answer in self._answers_to(word))]

    def _answers_to(self, asked: Word) -> Iterator[Word]:
        """The answer to a request of a pause: the first after it in its place among the answers."""
        request = asked.approval
        after = [
            word
            for word in self.words(asked.places, ("turn", str(request.turn)))
            if word.approval.decided_ns >= request.decided_ns and word.approval.pause_id in (None, request.pause_id)
        ]
        first = min(after, key=lambda w: (w.approval.decided_ns, *every_field(w.approval)), default=None)
        if first is not None:
            said = first.approval
            edited = said.decision == "edited" and said.arguments_hash != request.arguments_hash
            decision = "cancelled" if edited else said.decision  # it is approved as it became, and filed so
            about = replace(said, decision=decision, tool=request.tool, call_id=request.call_id)
            answer = replace(about, arguments_hash=request.arguments_hash)
            yield replace(first, approval=answer, places=asked.places)


def asks_in_turn(decision: Approval) -> bool:
    return decision.turn is not None and decision.decision == "requested"
