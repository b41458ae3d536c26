"""Which approval each call uses: one approval covers one call, at whichever place and under whichever name it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from trailhound.collector.assemble.filed import ANY_TOOL, Call, CallKey, Filed, Key, Place
from trailhound.collector.assemble.matching import share_out
from trailhound.collector.assemble.shelves import Shelves
from trailhound.collector.assemble.spoken import Spoken
from trailhound.collector.assemble.words import (
    Heard,
    Known,
    Word,
    Words,
    every_field,
    grants,
    is_wide_blank,
    latest,
    paired,
    refuses,
)
from trailhound.evaluators.tools import bare_name, is_one_tool
from trailhound.model import Approval

Counts = Callable[[Approval, Filed], bool]
"""Whether a decision is about a call, and in time."""


@dataclass(slots=True)
class _Area:
    """The places that words under one key connect, with the calls there that are compared with each other."""

    places: dict[Place, None]
    calls: list[Filed]


@dataclass(slots=True)
class _Pool:
    """The words on one tool and arguments in an area, and what the calls there take of them."""

    area: _Area
    words: Words
    nameless: Words
    """Those of the words that name no call id: what names one is about no call that has another."""
    taken: dict[CallKey, Word]


class Shares:
    """Finds the words about a call, and shares the approvals among them out to the calls that they may cover.

    An approval that names a call id is that call's: the first with the id after it. All other calls, in their order, take
    approvals of their arguments, so that as many as possible are covered and none for which an earlier one goes without.
    """

    def __init__(self, shelves: Shelves, trusts: Callable[[Approval], bool], counts: Counts) -> None:
        self._shelves, self._spoken, self._counts = shelves, Spoken(shelves, trusts), counts
        self._areas: dict[tuple[Place, Key], _Area] = {}
        self._pools: dict[tuple[Place, Key], _Pool] = {}
        self._named_words: dict[CallKey, tuple[list[Word], list[Word]]] = {}
        self._wide_words: dict[tuple[Key, tuple[Place, ...]], Words] = {}

    def renew(self) -> None:
        """What is filed has changed: everything is looked at again."""
        self._areas.clear()
        self._pools.clear()
        self._named_words.clear()
        self._wide_words.clear()

    def known(self, filed: Filed) -> Known:
        """Everything that is known of a filed call, by now."""
        own, left = self._by_id(filed)
        told, taken = self._by_arguments(filed)
        others = any(shelf.answers for shelf in self._shelves.of(filed.places))
        by_id = Heard(Words(own), lambda word: True)
        used = [*left, *([] if taken is None else [taken])]
        return Known(by_id, told, self._wide(filed), used, others, partial(self._unasked, filed))

    def _unasked(self, filed: Filed) -> Approval | None:
        assert filed.call is not None
        trace = (filed.key[0], f"trace:{filed.key[1]}")
        answers = self._spoken.unasked(trace, filed.places) if trace in filed.places else ()
        before = [a for a in answers if grants(a) and a.decided_ns <= filed.call.start_ns]
        return max(before, key=lambda a: (a.decided_ns, *every_field(a)), default=None)

    def rivals(self, filed: Filed) -> Iterator[Call]:
        """The calls whose approval may be another one because of this call, itself included."""
        return self.rivals_of((filed,))

    def rivals_of(self, calls: Iterable[Filed]) -> Iterator[Call]:
        """As `rivals` for several calls, each area once: those alike have the same ones. Where nothing was told, nothing
        is shared."""
        seen: dict[int, _Area] = {}
        for filed in calls:
            for key in filter(lambda key: self._is_told(filed.places, key), keys_compared(filed)):
                area = self._area(filed.places, key)
                if id(area) not in seen and self._is_shared(area, filed, key):
                    yield from (c.call for c in area.calls if c.call is not None)
                seen[id(area)] = area

    def _is_shared(self, area: _Area, filed: Filed, key: Key) -> bool:
        """Whether calls of an area may take each other's approvals: where all have ids and none takes what names none,
        each has its own."""
        return key[0] == "id" or any(map(_is_nameless, area.calls)) or bool(self._pool(filed, key).taken)

    def _is_told(self, places: Iterable[Place], key: Key) -> bool:
        return any(key in shelf.decisions for shelf in self._shelves.of(places))

    def reached(self, told: Filed) -> Iterator[Call]:
        """The calls that share approvals with those that a decision is about, where it is filed and where that leads."""
        answers = any(key[0] == "turn" for key in told.found_under())
        for filed in (told, *(self._spoken.asking(told.places) if answers else ())):
            for key in filed.found_under():
                if key[0] in ("id", "arguments"):
                    yield from self._reach(filed, key)

    def _reach(self, filed: Filed, key: Key) -> Iterator[Call]:
        return (c.call for c in self._area(filed.places, key).calls if c.call is not None)

    # ------------------------------------------------------------ by call id

    def _by_id(self, filed: Filed) -> tuple[list[Word], list[Word]]:
        """(the words on its id, the approvals among them that it uses)"""
        assert filed.call is not None
        known = self._named_words.get(filed.call.key)
        if known is None:
            known = self._named_words[filed.call.key] = self._find_by_id(filed, keys_compared(filed)[0])
        return known

    def _find_by_id(self, filed: Filed, key: Key) -> tuple[list[Word], list[Word]]:
        words = [w for w in paired(self._spoken.about(filed.places, key)) if w.reaches(filed)]
        if not self._is_compared(filed, key):
            return [w for w in words if refuses(w.approval)], []
        words = [w for w in words if not is_wide_blank(w.approval) or self._is_like_named(w, filed)]
        return words, [w for w in words if self._uses_by_id(filed, w)]

    def _uses_by_id(self, filed: Filed, word: Word) -> bool:
        if not grants(word.approval) or not self._counts(word.approval, filed):
            return False
        return word.approval.scope != "once" or self._named(word) is filed

    def _named(self, word: Word) -> Filed | None:
        """The call that an approval is about which names an id: the first one of that id after it."""
        key = ("id", word.approval.call_id or "")
        able = (c for c in self._calls(word.places, key) if word.reaches(c) and self._counts(word.approval, c))
        return min(able, key=_order, default=None)

    # ------------------------------------------------------------ by arguments

    def _by_arguments(self, filed: Filed) -> tuple[Heard, Word | None]:
        """(the words on its arguments, the approval among them that it uses)"""
        assert filed.call is not None
        key = keys_compared(filed)[1]
        pool = self._pool(filed, key)
        words = pool.words if _is_nameless(filed) else pool.nameless
        if not self._is_compared(filed, key):
            return Heard(words, lambda w: refuses(w.approval) and w.reaches(filed)), None
        taken = pool.taken.get(filed.call.key)
        if taken is not None and taken.approval.call_id is not None:
            # then it is that call, and what names others is not about it
            named = (None, taken.approval.call_id)
            return Heard(words, lambda w: w.approval.call_id in named and w.reaches(filed)), taken
        return Heard(words, lambda w: w.reaches(filed)), taken

    def _pool(self, filed: Filed, key: Key) -> _Pool:
        area = self._area(filed.places, key)
        known = self._pools.get((filed.places[0], key))
        if known is not None and known.area is area:
            return known
        # what names a call is of no use to others that have an id, unless it answers somebody or asks
        unnamed = not any(map(_is_nameless, area.calls)) and not self._shelves.asked(area.places, key)
        words = self._spoken.nameless(area.places, key) if unnamed else self._spoken.about(area.places, key)
        apart = paired(words)
        every = Words(apart)
        nameless = every if unnamed else Words([w for w in apart if w.approval.call_id is None])
        pool = _Pool(area, every, nameless, {})
        for place in area.places if words else ():
            self._pools[place, key] = pool
        free = sorted(filter(self._is_free, apart), key=latest)
        if free:
            # what refused another request took nothing back that was given before
            refusals = [w for w in apart if refuses(w.approval) and (w.approval.call_id is not None or not w.answers)]
            takers = sorted((c for c in area.calls if not self._is_served(c)), key=_order)
            pool.taken = share_out(takers, free, lambda c, w: self._may_take(c, w, refusals))
        return pool

    def _is_free(self, word: Word) -> bool:
        """Whether it is an approval of one call that is not the one which it names."""
        approval = word.approval
        if not grants(approval) or approval.scope != "once":
            return False
        return approval.call_id is None or self._named(word) is None

    def _is_served(self, filed: Filed) -> bool:
        """Whether an approval names it: it needs no other."""
        assert filed.call is not None
        return filed.call.call_id is not None and bool(self._by_id(filed)[1])

    def _may_take(self, filed: Filed, word: Word, refusals: Iterable[Word]) -> bool:
        if not word.reaches(filed) or not _may_mean(word, filed) or not self._counts(word.approval, filed):
            return False
        return not self._is_refused(filed, word.approval, refusals)

    def _is_refused(self, filed: Filed, approval: Approval, refusals: Iterable[Word]) -> bool:
        """Whether a later word, before the call, about the call that `approval` names or about this call took it back."""
        assert filed.call is not None
        about = [w.approval for w in refusals if w.approval.call_id == approval.call_id and w.reaches(filed)]
        if filed.call.call_id is not None:
            about += [w.approval for w in self._by_id(filed)[0] if refuses(w.approval)]
        return any(approval.decided_ns < d.decided_ns and self._counts(d, filed) for d in about)

    # ------------------------------------------------------------ for many calls

    def _wide(self, filed: Filed) -> Heard:
        assert filed.call is not None
        keys = (("tool", bare_name(filed.call.tool)), ANY_TOOL)
        words = self._wide_words.get((keys[0], filed.places))
        if words is None:
            always = self._spoken.words((filed.always,), *keys, anywhere=True)
            words = Words([*self._spoken.words(filed.places, *keys), *always])
            self._wide_words[keys[0], filed.places] = words
        return Heard(words, lambda w: w.reaches(filed) and self._covers(w, filed))

    def _covers(self, word: Word, filed: Filed) -> bool:
        """Whether a decision of wider scope is about these arguments: what it names by id is one call's arguments."""
        wide, call = word.approval, filed.call
        assert call is not None
        if wide.tool is not None and not is_one_tool(wide.tool, call.tool):
            return False
        if is_wide_blank(word.approval):
            return self._is_like_named(word, filed)
        return wide.arguments_hash in (None, call.arguments_hash)

    def _is_like_named(self, word: Word, filed: Filed) -> bool:
        """Whether a call is like the one that a word names by its id alone."""
        named, call = self._named(word), filed.call
        if named is None or named.call is None or call is None:
            return False
        return named is filed or (
            named.call.arguments_hash == call.arguments_hash is not None and is_one_tool(named.call.tool, call.tool)
        )

    # ------------------------------------------------------------ what is on the shelves

    def _calls(self, places: Iterable[Place], key: Key) -> list[Filed]:
        """The calls in these places that are compared with each other."""
        found = {call: None for place in places for call in self._shelves.compared(place, key)}
        filed = [self._shelves.filed[call] for call in found]
        return [each for each in filed if self._is_compared(each, key)]

    def _area(self, places: Sequence[Place], key: Key) -> _Area:
        """Where the words in these places reach, by their carriers and by the calls that find them."""
        known = self._areas.get((places[0], key)) if places else None
        if known is not None and all(place in known.places for place in places):
            return known
        found = dict.fromkeys(places)
        queue = list(found)
        alone = not self._is_told(found, key)
        for place in queue if not alone else ():
            keys = [*self._shelves.told(place, key), *self._shelves.compared(place, key)]
            for other in (p for each in keys for p in self._shelves.filed[each].places):
                if other not in found:
                    found[other] = None
                    queue.append(other)
        area = _Area(found, self._calls(found, key))
        self._areas.update({} if alone else {(place, key): area for place in found})
        return area

    def _is_compared(self, filed: Filed, key: Key) -> bool:
        """Whether a call has such a key and is none of too many alike in any of its places: approvals of those cover
        the earliest only, as what became of the approvals between them is not followed."""
        crowds = [shelf.calls[key] for shelf in self._shelves.of(filed.places) if key in shelf.calls]
        return bool(crowds) and all(filed.key in crowd.first for crowd in crowds)


def keys_compared(filed: Filed) -> tuple[Key, Key]:
    """Under which keys the words about a call are found that cover one call."""
    assert filed.call is not None
    call = filed.call
    return ("id", call.call_id or ""), ("arguments", bare_name(call.tool), call.arguments_hash or "")


def _may_mean(word: Word, filed: Filed) -> bool:
    """Whether a word on arguments may mean this call: not where both have a call id, by which they are joined."""
    return word.approval.call_id is None or _is_nameless(filed)


def _is_nameless(filed: Filed) -> bool:
    """Whether a call has no id."""
    assert filed.call is not None
    return filed.call.call_id is None


def _order(filed: Filed) -> tuple[object, ...]:
    assert filed.call is not None
    return filed.call.order
