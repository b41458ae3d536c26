"""Decisions as somebody said them: a span and a log record, or two spans, may tell of the same one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain

from trailhound.collector.assemble.filed import Filed, Place
from trailhound.evaluators.tools import bare_name, is_one_tool
from trailhound.model import Approval

AGAIN_NS = 600_000_000_000
"""For how long the same words without a time of their own are taken for the same request, sent again."""
Said = tuple[Filed, Approval]
"""What one carrier tells of a decision."""


@dataclass(slots=True)
class Word:
    """One decision, whoever tells of it."""

    approval: Approval
    user: str
    """Whose call it is about, as far as was said."""
    places: set[Place]
    """Where it counts: of all who tell of it and are as much believed."""
    trusted: bool
    anywhere: bool = False
    """Whether it counts in every session."""
    answers: bool = False
    """Whether somebody was seen to ask for it."""

    def reaches(self, filed: Filed) -> bool:
        """Whether it counts where this call is. Users may have named their sessions alike: in one session the word about
        one of them is none about another's call. A trace is one user's, whatever names for him it has."""
        shared = self.places.intersection(filed.places)
        if any(name.startswith("trace:") for _, name in shared):
            return True
        return (bool(shared) or self.anywhere) and may_be_one(self.user, filed.user)


class Heard:
    """Some words as far as they are about one call: looked at one after the other, as the first few mostly decide."""

    __slots__ = ("_about", "_newest", "_words")

    def __init__(self, words: Words, about: Callable[[Word], bool]) -> None:
        self._words, self._newest, self._about = words.words, words.newest, about

    def __iter__(self) -> Iterator[Word]:
        return filter(self._about, self._words)

    def newest_first(self) -> Iterator[Word]:
        return filter(self._about, self._newest)


class Words:
    """Words that several calls look at, in their own order and by time."""

    __slots__ = ("newest", "words")

    def __init__(self, words: Sequence[Word]) -> None:
        self.words, self.newest = words, sorted(words, key=latest, reverse=True)


@dataclass(slots=True)
class Known:
    """What is known of one call."""

    by_id: Heard
    """Words that name its call id."""
    by_arguments: Heard
    """Words about its arguments, and a tool of its bare name, that name no call id, or one where the call has none."""
    wide: Heard
    """Words for a whole session or for always, about calls like it."""
    left: list[Word]
    """The approvals of one call that are for it. Those of wider scope are for each call that they are about."""
    others: bool
    """Whether any trusted decision about another call of the session is known: its decisions do reach us."""
    unasked: Callable[[], Approval | None]
    """Looks for an approval in the call's trace, before the call, that answers a pause of which no request was recorded:
    it may be about this call, as it names none."""

    def __iter__(self) -> Iterator[Word]:
        return chain(self.by_id, self.by_arguments, self.wide)

    def newest_first(self) -> Iterator[Word]:
        heard = (self.by_id, self.by_arguments, self.wide)
        return merge(*(each.newest_first() for each in heard), key=latest, reverse=True)

    def covers(self, word: Word) -> bool:
        """Whether an approval that counts is used by this call."""
        return word.approval.scope != "once" or any(word is each for each in self.left)


def words_of(said: Iterable[Said], trusted: Callable[[Approval], bool], *, anywhere: bool = False) -> list[Word]:
    """One word for each decision. Where one who is trusted and others tell of the same, they may have copied it."""
    found: dict[tuple[object, ...], list[Word]] = {}
    for filed, d in sorted(said, key=lambda each: (not trusted(each[1]), *_first(each[1]))):
        believed = trusted(d)
        same = found.setdefault(_sense(d), [])
        word = next((w for w in same if share_tool(d, w.approval) and may_be_one(w.user, filed.user)), None)
        if word is None:
            same.append(Word(d, filed.user, set(filed.places), believed, anywhere))
        elif word.trusted == believed:
            word.places.update(filed.places)
            word.user = word.user or filed.user
    return _told_once([word for same in found.values() for word in same])


def _told_once(words: list[Word]) -> list[Word]:
    """Without those that only repeat the last one about the same call, as a client does that got no answer."""
    if not any(word.approval.undated for word in words):
        return words
    last: dict[tuple[object, ...], Word] = {}
    found = []
    for word in sorted(words, key=latest):
        about = (word.approval.call_id, word.approval.tool, word.approval.arguments_hash)
        before = last.get(about)
        if before is not None and _repeats(word, before):
            before.places.update(word.places)
            before.user = before.user or word.user
        else:
            last[about] = word
            found.append(word)
    return found


def _repeats(word: Word, before: Word) -> bool:
    said, known = word.approval, before.approval
    if not said.undated or said.decided_ns - known.decided_ns > AGAIN_NS:
        return False
    return replace(said, decided_ns=known.decided_ns) == known and may_be_one(word.user, before.user)


def may_be_one(user: str, other: str) -> bool:
    """Whether two names may be of one user: "" is nobody's."""
    return user == other or not user or not other


def _sense(d: Approval) -> tuple[object, ...]:
    """What decisions have in common that are one."""
    tool = bare_name(d.tool) if d.tool is not None else None
    when = d.decided_ns if d.pause_id is None else d.pause_id
    return (d.decision, d.call_id, tool, d.arguments_hash, d.actor, d.turn, when)


def _first(d: Approval) -> tuple[object, ...]:
    return (d.decided_ns, not is_said(d), _is_bare(d), d.source, *every_field(d))


def _is_bare(decision: Approval) -> bool:
    """Whether its tool is named without a server: the word that names the server says more."""
    return decision.tool is None or bare_name(decision.tool) == decision.tool


def paired(words: Iterable[Word]) -> list[Word]:
    """The words without the requests that were answered: a request and its answer are one.

    No answer of a stranger ends a request that one who is trusted made.
    """
    answers = sorted((w for w in words if w.approval.decision != "requested"), key=latest)
    requests = sorted((w for w in words if w.approval.decision == "requested"), key=latest)
    if not requests or not answers:
        return [*answers, *requests]
    for answer in answers:
        asked = next((request for request in requests if _answers(answer, request)), None)
        if asked is not None:
            answer.answers = True
            requests = [request for request in requests if request is not asked]
    return [*answers, *requests]


def _answers(answer: Word, request: Word) -> bool:
    said, asked = answer.approval, request.approval
    if None is not said.call_id != asked.call_id is not None:
        return False
    in_turn = asked.decided_ns <= said.decided_ns and share_tool(asked, said)
    return in_turn and (answer.trusted or not request.trusted) and not request.places.isdisjoint(answer.places)


def share_tool(one: Approval, other: Approval) -> bool:
    return one.tool is None or other.tool is None or is_one_tool(one.tool, other.tool)


def grants(decision: Approval) -> bool:
    return decision.decision in ("approved", "edited") or (decision.decision == "requested" and decision.holds)


def refuses(decision: Approval) -> bool:
    return decision.decision in ("denied", "expired", "cancelled")


def latest(word: Word) -> tuple[object, ...]:
    """Words by time; of two at the same time the denial counts, then any other refusal, and what was said before what a
    status tells. No two that differ are equal: which came first is nothing that we know."""
    d = word.approval
    return (d.decided_ns, d.decision == "denied", refuses(d), is_said(d), *every_field(d), word.user)


def every_field(d: Approval) -> tuple[object, ...]:
    """Puts decisions of one moment in some order."""
    names = (d.trace_id, d.span_id, d.pause_id or "", d.decision, d.call_id or "", d.tool or "", d.arguments_hash or "")
    return (
        *names,
        d.scope,
        d.actor,
        d.actor_id or "",
        d.service,
        d.source,
        d.holds,
        -1 if d.turn is None else d.turn,
        d.undated,
    )


def is_said(decision: Approval) -> bool:
    """Whether somebody said so, and it was not read off the status of the call."""
    return not decision.source.endswith((".denied", ".pending"))


def is_wide_blank(decision: Approval) -> bool:
    """Whether it names a call by its id alone, and is about all that are like that one."""
    return decision.scope != "once" and decision.call_id is not None and decision.arguments_hash is None
