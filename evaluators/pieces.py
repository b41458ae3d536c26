"""Which of many patterns a text may hold, told from their pieces: what stands between the gaps of a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

import re2  # type: ignore[import-untyped]

from trailhound.evaluators.patterns import SHIPPED_MEMORY
from trailhound.evaluators.widened import widened
from trailhound.expressions import re2_options

Way = frozenset[str]
"""The pieces of one way to match a pattern; between them may stand anything."""
_GAP = "\0"
"""Between two pieces, while they are put together."""
_ATOM = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_REPEATED, _TIMES = re.compile(r"[*+]\??"), re.compile(r"[*+?]\??|\{[0-9,]+\}")
_WORD = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\w")


class Pieces:
    """Looks for all pieces of all patterns at once, in one pass over a text.

    With the gaps in it, an automaton has a state for every set of beginnings that a line may have had so far: each new
    text led to new states, and a character of it took 0.5 to 7 us. Without them it soon has all the states it needs.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._ways: dict[int, list[tuple[frozenset[int], int]]] = {}
        """By one of its pieces: all pieces of a way, and the number of its pattern."""
        numbers: dict[str, int] = {}
        for pattern, text in enumerate(patterns):
            for way in _least(set(ways(widened(text)))):
                found = [numbers.setdefault(piece, len(numbers)) for piece in sorted(way, key=len)]
                self._ways.setdefault(found[-1], []).append((frozenset(found), pattern))
        self._set = re2.Set.SearchSet(re2_options(SHIPPED_MEMORY, case_sensitive=False))
        for piece in numbers:
            self._set.Add(_unicode(piece))
        self._set.Compile()

    def possible(self, text: str) -> list[int]:
        """Numbers of the patterns that the text may hold, of every one that it does hold: first whose pieces end first."""
        found = self._set.Match(text.encode("utf-8", "replace"))
        if not found:
            return []
        place = {piece: number for number, piece in enumerate(found)}  # they come in the order in which they end
        ends: dict[int, int] = {}
        for piece in found:
            for way, pattern in self._ways.get(piece, ()):
                if place.keys() >= way:
                    end = max(map(place.__getitem__, way))
                    ends[pattern] = min(end, ends.get(pattern, end))
        return sorted(ends, key=lambda pattern: (ends[pattern], pattern))


def ways(pattern: str) -> Iterator[Way]:
    """The ways to match a pattern of alternatives, groups `(?:..)`, classes and repetitions.

    `.*` and `[^..]*` are gaps, and so is a repeated group that has one; a group without any is part of a piece.
    """
    for way in _Reader(pattern).alternatives():
        yield frozenset(filter(None, way.split(_GAP))) or frozenset([""])


def _least(some: set[Way]) -> list[Way]:
    """Those that hold no other: where one of them is found, so is what it holds."""
    least: list[Way] = []
    for way in sorted(some, key=lambda each: (len(each), sorted(each))):
        if not any(other <= way for other in least):
            least.append(way)
    return least


def _unicode(piece: str) -> str:
    r"""For RE2, whose `\w` is a word of ASCII alone."""
    return _WORD.sub(lambda found: found.group().replace(r"\w", r"\pL\pN_") if found.group() != r"\w" else r"[\pL\pN_]", piece)  # fmt: skip


class _Reader:
    """Reads a pattern once, from left to right; a way is a text with _GAP in it."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    def alternatives(self) -> list[str]:
        """Up to the end of the group, or of the pattern."""
        found = self._sequence()
        while self._pattern.startswith("|", self._at):
            self._at += 1
            found += self._sequence()
        return found

    def _sequence(self) -> list[str]:
        found = [""]
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            found = [before + way for before, way in product(found, self._item())]
        return found

    def _item(self) -> list[str]:
        """An atom or group with its repetition."""
        start = self._at
        if self._pattern.startswith("(?:", start):
            self._at += len("(?:")
            inner = self.alternatives()
            self._at += len(")")
            repeated = self._skip(_TIMES)
            if any(_GAP in way for way in inner):
                return [_GAP] if repeated else inner
        else:
            self._skip(_ATOM)
            if self._pattern.startswith((".", "[^"), start) and self._skip(_REPEATED):
                return [_GAP]
            self._skip(_TIMES)
        return [self._pattern[start : self._at]]

    def _skip(self, what: re.Pattern[str]) -> bool:
        match = what.match(self._pattern, self._at)
        self._at = self._at if match is None else match.end()
        return match is not None
