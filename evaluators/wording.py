"""When two short phrases are the same request in other words: an inflection, a typo, a filler word, punctuation."""

from __future__ import annotations

import functools

MAX_PHRASE = 200
"""Characters."""
MAX_WORDS = 24
"""Longer texts are content, not a phrase: a file written again with one word changed is no repetition."""
MIN_INFLECTED = 4
"""Letters of a word that may be inflected or misspelt; shorter words are too close to each other by chance."""
FILLERS = frozenset("a an the please me my i we do does is are was how what which for of in about".split())  # noqa: SIM905
"""Words that change no request. `to`, `from`, `not`, `and`, `or` do."""
REVERSING = frozenset({"not", "no", "without", "never", "except"})
"""Words that make another request when they are added."""
ORDERING = frozenset(
    "to from into onto over under than vs versus before after not no without never except by minus until since".split()  # noqa: SIM905
)
"""Words that make the order of the others matter: `Oslo to Bergen`."""
_JOINING = frozenset({"for", "on", "with", "at"})
"""Words that change no request once the others are the same."""
_ENDS = ".,;:!?"
_QUOTES = "\"'`"


def near(one: str, other: str) -> bool:
    """Whether two phrases differ in no more than inflections, single letters and at most one added word.

    At least half of the words must be equal, in the same order; words with digits or inner punctuation (numbers, ids,
    paths, names of files) must all be. A word replaced by another one makes another request. Three words or more that
    begin elsewhere in the same round are the same request, unless one of them makes the order matter.
    """
    if one == other:
        return True
    a, b = words_of(one), words_of(other)
    if a is None or b is None:
        return False
    if abs(len(a) - len(b)) > 1:
        return _turned(a, b)
    return a == b or (2 * len(set(a) & set(b)) >= min(len(a), len(b)) and _near(a, b)) or _turned(a, b)


@functools.lru_cache(1024)
def words_of(text: str) -> tuple[str, ...] | None:
    """The words of a phrase in lower case without punctuation and fillers; None when `text` is no phrase."""
    if len(text) > MAX_PHRASE or " " not in text or "\n" in text:
        return None
    words = [word.strip(_QUOTES).rstrip(_ENDS) or word for word in text.casefold().split()]
    words = [word for word in words if word not in FILLERS]
    return tuple(words) if 1 <= len(words) <= MAX_WORDS else None


def _turned(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one phrase begins with the end of the other and goes on with its beginning: `reset password`, `password reset`.

    Two words that only change places are another request: `flights Paris London`.
    """
    a, b = (tuple(word for word in words if word not in _JOINING) for words in (a, b))
    if len(a) != len(b) or len(a) < 3 or not all(word.isalpha() for word in (*a, *b)) or ORDERING & {*a, *b}:
        return False
    return any(all(map(_same_word, a[turn:] + a[:turn], b)) for turn in range(1, len(a)))


def _near(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if len(a) > len(b):
        a, b = b, a
    if len(a) < 3:
        return False
    if len(b) > len(a):
        added = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if not _same_word(x, y)), len(a))
        if not b[added].isalpha() or b[added] in REVERSING:
            return False
        b = b[:added] + b[added + 1 :]
    equal = sum(x == y for x, y in zip(a, b, strict=True))
    return 2 * equal >= len(a) and all(_same_word(x, y) for x, y in zip(a, b, strict=True))


def _same_word(a: str, b: str) -> bool:
    if a == b:
        return True
    if min(len(a), len(b)) < MIN_INFLECTED or not (a.isalpha() and b.isalpha()):
        return False
    return _common_start(a, b) * 3 >= 2 * max(len(a), len(b)) or _one_edit(a, b)


def _common_start(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter replaced, added or dropped, or two neighbours swapped, make `a` into `b`."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    start = _common_start(a, b)
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    swapped = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
    return a[start + 1 :] == b[start + 1 :] or swapped
