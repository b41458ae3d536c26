"""What the messages of one conversation say, so that a model call which repeats them need not read them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trailhound.collector.dialects.conversation import Conversation

Take = Callable[[Conversation, Any], None]
"""Adds what one input message says to a conversation."""


class Heard:
    """All that was said, in order, and where each message begins in it."""

    __slots__ = ("_all", "_asked_at", "_begins", "_instructed_at")

    def __init__(self) -> None:
        self._all = Conversation(unnamed=[])
        self._begins: list[tuple[int, int, int]] = []
        """By message: how many results with and without ids, and how many marks, come before it."""
        self._asked_at = self._instructed_at = -1
        """The last message with a question, and with a system prompt."""

    def __len__(self) -> int:
        """How many messages were heard."""
        return len(self._begins)

    def skip(self, count: int) -> None:
        """Pass over the next `count` messages: nobody will ask for them."""
        self._begins += [self._end()] * count

    def add(self, messages: Iterable[Any], take: Take) -> None:
        talk = self._all
        for at, message in enumerate(messages, len(self)):
            self._begins.append(self._end())
            question, talk.question = talk.question, None
            system, talk.system = talk.system, None
            take(talk, message)
            if talk.question is not None:
                self._asked_at = at
            else:
                talk.question = question
            if talk.system is not None:
                self._instructed_at = at
            else:
                talk.system = system

    def _end(self) -> tuple[int, int, int]:
        talk = self._all
        return len(talk.responses), len(talk.unnamed or ()), len(talk.marks)

    def tell(self, talk: Conversation, since: int) -> None:
        """Let `talk`, of which nothing is known yet, say what was heard from message `since` on."""
        heard, (responses, unnamed, marks) = self._all, self._begins[since]
        talk.responses = heard.responses[responses:]
        talk.unnamed = (heard.unnamed or [])[unnamed:] or None
        talk.marks = heard.marks[marks:]
        talk.question = heard.question if self._asked_at >= since else None
        talk.system = heard.system if self._instructed_at >= since else None
