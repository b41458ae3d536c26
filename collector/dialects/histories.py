"""Conversations that grow: a model call repeats all messages of the one before it, so that only what is new is read."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from trailhound.collector.dialects.coerce import load
from trailhound.collector.dialects.heard import Heard

SHORT = 4096
"""Characters of a text that is parsed about as fast as its beginning is looked up."""
ROOM = 8 * 2**20
"""Characters of texts that are remembered; parsed they take two or three times that."""
_HEAD = 256
"""Characters by which the conversations in one trace are told apart: a sub-agent's begins with another system prompt."""


class History(NamedTuple):
    """What is remembered of one conversation."""

    text: str
    """Its longest text without the closing bracket."""
    messages: list[Any]
    heard: Heard | None
    """What the first of them say, as far as somebody has listened; None until the conversation goes on."""


_NOTHING = History("", [], None)


class Histories:
    """Remembers, by trace and beginning, the longest text of each conversation, its messages, and what they say.

    What is remembered changes no result, only the time it takes; it is shared by the steps made of it, so nobody may
    change it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], History] = {}
        self._size = 0

    def load(self, trace_id: str, given: str) -> tuple[Any, Heard | None]:
        """`given` parsed as `coerce.load` does; with what its first messages say, which `messages.hear` lets learn the rest.

        None in place of that where no conversation goes on: what is told once is not worth remembering.
        """
        if len(given) < SHORT or given[0] != "[" or given[-1] != "]":
            return load(given), None
        place = (trace_id, given[:_HEAD])
        known = self._known.get(place, _NOTHING)
        found: Any = _longer(given, known.text, known.messages) if known.messages else None
        heard = None
        if found is None:
            found = load(given)
        else:
            heard = Heard() if known.heard is None else known.heard
        if found.__class__ is list and found:
            self._remember(place, len(given) - len(known.text), History(given[:-1], found, heard))
        return found, heard

    def _remember(self, place: tuple[str, str], more: int, known: History) -> None:
        self._size += more
        if self._size > ROOM:
            self._known, self._size = {}, len(known.text)
        self._known[place] = known


def _longer(given: str, before: str, messages: list[Any]) -> list[Any] | None:
    """The messages in `given`, which may begin with the list `before` that lacks its bracket; None when it does not.

    Both parts are JSON, so what stands between them, one comma, makes them one list.
    """
    if not given.startswith(before):
        return None
    rest = given[len(before) :].lstrip()
    if rest == "]":
        return messages
    if rest[0] != ",":
        return None
    try:
        new = orjson.loads("[" + rest[1:])
    except orjson.JSONDecodeError:
        return None
    return messages + new if new else None
