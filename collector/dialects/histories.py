"""Conversations that grow: a model call repeats all messages of the one before it, so that only what is new is parsed."""

from __future__ import annotations

from typing import Any

import orjson

from trailhound.collector.dialects.coerce import load

SHORT = 4096
"""Characters of a text that is parsed about as fast as its beginning is looked up."""
ROOM = 8 * 2**20
"""Characters of texts that are remembered; parsed they take two or three times that."""
_HEAD = 256
"""Characters by which the conversations in one trace are told apart: a sub-agent's begins with another system prompt."""


class Histories:
    """Remembers, by trace and beginning, the longest text of each conversation without its closing bracket, and its messages.

    What is remembered changes no result, only the time it takes; it is shared by the steps made of it, so nobody may
    change it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, list[Any]]] = {}
        self._size = 0

    def load(self, trace_id: str, given: str) -> Any:
        """`given` parsed as `coerce.load` does."""
        if len(given) < SHORT or given[0] != "[" or given[-1] != "]":
            return load(given)
        place = (trace_id, given[:_HEAD])
        before, messages = self._known.get(place, ("", []))
        found = _longer(given, before, messages) if messages else None
        if found is None:
            found = load(given)
        if found.__class__ is list and found:
            self._remember(place, len(given) - len(before), (given[:-1], found))
        return found

    def _remember(self, place: tuple[str, str], more: int, known: tuple[str, list[Any]]) -> None:
        self._size += more
        if self._size > ROOM:
            self._known, self._size = {}, len(known[0])
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
