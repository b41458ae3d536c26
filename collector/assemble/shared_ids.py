"""A call id that several traces have, and which of them belong together: some providers count `call_1`, `call_2` anew in
every conversation (Kimi K2 writes `functions.look:0`), and a test's model does."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

TraceKey = tuple[str, str]
"""(tenant, trace id)"""
ASKED, RAN, GIVEN, PAUSED = 1, 2, 4, 8
"""What a trace has of a call id: the request, a span of its execution, the result in a model's input, a span that (perhaps) waits."""
MAX_TRACES = 64
"""Traces that are searched for those that one id joins: one that more have is looked at by what else they share."""
WHOLE = ""
"""The group of all traces that have the id."""
EVERYBODY, AMONG = "", ": "
"""The circle of all traces, and what ends the name of any other."""
Names = tuple[str, str]
"""The session and the user of a trace, where it names one alone, "" where it does not."""
NAMELESS: Names = ("", "")
Pair = tuple[TraceKey, TraceKey]


class Held(NamedTuple):
    """What one trace has of a call."""

    trace: TraceKey
    has: int
    since_ns: int
    """Unix nanoseconds."""
    question: int = 0
    """Sum over the question that the model calls which ask for it, or were given it, were to answer, and over their
    instrumentation; 0: none known."""
    call: int = 0
    """Sum over its arguments and instrumentation; 0: not known. Its tool's name is no part of it: an early report of a
    span may lack it, and is not seen again after a restart."""
    names: Names = NAMELESS

    def joined(self, before: Held) -> Held:
        """The newer of what one trace has of the call, with what was known before."""
        signs = least((self.question, self.call), (before.question, before.call))
        return Held(self.trace, self.has, min(self.since_ns, before.since_ns), *signs, self.names)

    def groups(self) -> list[str]:
        """By what it may be told which of several requests it belongs to, besides the id."""
        signs = [WHOLE]
        if self.call and self.has & (ASKED | RAN | PAUSED):
            signs.append(f"call {self.call}")
        if self.question and self.has & (ASKED | GIVEN):
            signs.append(f"question {self.question}")
        return [circle + sign for circle in self.circles() for sign in signs]

    def circles(self) -> list[str]:
        """Among whom it is looked for: all traces, and those of its session and of its user as if there were no others."""
        session, user = self.names
        named = {"session": session, "user": user, "both": "\0".join(self.names) if session and user else ""}
        return [EVERYBODY, *(f"{kind} {sum_of(name)}{AMONG}" for kind, name in named.items() if name)]


Signs = tuple[int, int]
UNKNOWN: Signs = (0, 0)


def least(one: Signs, other: Signs) -> Signs:
    """Of each sign the lesser that is known: the same whichever came first, and in every process."""
    return min(one[0], other[0]) or one[0] or other[0], min(one[1], other[1]) or one[1] or other[1]


def sum_of(*parts: str) -> int:
    """A number that equal texts share, in every process, and others nearly never."""
    return zlib.crc32("\0".join(parts).encode("utf-8", "replace")) + 1


class SharedId:
    """The traces that have one call id."""

    def __init__(self, first: Held) -> None:
        self._groups: dict[str, dict[TraceKey, Held]] = {}
        self.put(first)

    def put(self, new: Held) -> set[str]:
        """Let a trace have this of the call now, or nothing; returns the groups whose `pairs` may be others."""
        before = self._groups.get(WHOLE, {}).get(new.trace)
        changed = set() if before is None else self._take_out(before)
        if new.has:
            new = new if before is None else new.joined(before)
            for group in new.groups():
                self._groups.setdefault(group, {})[new.trace] = new
            changed |= self._touched(new)
        return changed

    def _take_out(self, held: Held) -> set[str]:
        changed = self._touched(held)
        for group in held.groups():
            del self._groups[group][held.trace]
            if not self._groups[group]:
                del self._groups[group]
        return changed

    def _touched(self, held: Held) -> set[str]:
        """Its groups, and those of the requests that it may have ended: see `_answered`."""
        asking: list[Held] = []
        for circle in held.circles():
            called = self._groups.get(f"{circle}call {held.call}", {})
            asking += [other for other in called.values() if other.has & ASKED] if len(called) <= MAX_TRACES else []
        return {group for each in (held, *asking) for group in each.groups()}

    def __len__(self) -> int:
        return len(self._groups.get(WHOLE, ()))

    def of(self, trace: TraceKey) -> Held:
        """What a trace that has the id has of the call."""
        return self._groups[WHOLE][trace]

    def groups_of(self, trace: TraceKey) -> list[str]:
        """The groups that a trace is in."""
        return self.of(trace).groups()

    def pairs(self, group: str, begins: Callable[[Held], bool]) -> list[Pair]:
        """Pairs of traces that are one run, the asking one first, as far as the traces of this group tell.

        `begins` says whether a trace begins with what it has of the call, as one does that goes on with a run.
        """
        members = self._groups.get(group, {}).values()
        if not 1 < len(members) <= MAX_TRACES:
            return []
        circle, among, sign = group.rpartition(AMONG)
        if sign == WHOLE:
            return _of_one(members)
        if sign.startswith("call "):
            return [(asking.trace, taking.trace) for asking, taking in _in_turn(members, {}) if begins(taking)]
        first: dict[TraceKey, Held] = {}
        for asking, taking in _in_turn(members, self._answered(members, circle + among)):
            first.setdefault(asking.trace, taking)  # later ones were told the history
        return [(asking, taking.trace) for asking, taking in first.items() if begins(taking)]

    def _answered(self, members: Iterable[Held], circle: str) -> dict[TraceKey, int]:
        """Since when (Unix nanoseconds) a span shows the execution of what a trace asks for."""
        since: dict[TraceKey, int] = {}
        for call in {held.call for held in members if held.has & ASKED and held.call}:
            called = self._groups[f"{circle}call {call}"].values()
            for asking, taking in _in_turn(called, {}) if len(called) <= MAX_TRACES else ():
                since.setdefault(asking.trace, taking.since_ns)
        return since


def _of_one(members: Iterable[Held]) -> list[Pair]:
    """The one trace that asks, with those that ran the call and with the first one given its result.

    Without a request in sight, the trace in which the call waits stands for the asking one; that two traces ran a call of
    the same id joins nothing, nor does an id that several ask for.
    """
    by_time = sorted(members, key=_turn)
    asked = [held for held in by_time if held.has & ASKED] or [held for held in by_time if held.has & PAUSED]
    if len(asked) != 1:
        return []
    first = asked[0]
    after = [held for held in by_time if held.since_ns >= first.since_ns]
    later = [held.trace for held in after if held.has & (RAN | PAUSED)]
    later += [held.trace for held in after if held.has & GIVEN][:1]
    return [(first.trace, trace) for trace in dict.fromkeys(later) if trace != first.trace]


def _in_turn(members: Iterable[Held], answered: dict[TraceKey, int]) -> list[tuple[Held, Held]]:
    """Each trace that ran a call, or was given its result, with the last one before it that asked: (asking, taking).

    Not while an earlier one that asked for the same waits too: which of them it belongs to cannot be told.
    """
    found: list[tuple[Held, Held]] = []
    waiting: dict[TraceKey, Held] = {}
    last: Held | None = None
    for held in sorted(members, key=_turn):
        if held.has & ASKED:
            waiting = {t: w for t, w in waiting.items() if answered.get(t, held.since_ns) >= held.since_ns}
            waiting[held.trace] = last = held
        elif last is not None and not waiting.keys() - {last.trace}:
            waiting.clear()
            found.append((last, held))
    return found


def _turn(held: Held) -> tuple[int, bool, TraceKey]:
    return held.since_ns, not held.has & ASKED, held.trace
