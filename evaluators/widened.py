"""A pattern that finds wherever another finds, and needs few states to be looked for: asked first, of every text."""

from __future__ import annotations

import re

_COUNTED = re.compile(r"\{(?:0|1),[0-9]+\}")
_GROUP = re.compile(
    r"\(\?:(?:[^()|\\\[]|\\[^sWD]|\[(?!\^)[^\]]*\]|\(\?:(?:[^()|\\\[]|\\[^sWD]|\[(?!\^)[^\]]*\])*\)[*?])*\)[*+]\??"
)
"""Some words, of any number, none of which holds a line end."""
_SOME = re.compile(r"(?:\.\*)+")


def widened(pattern: str) -> str:
    """The pattern with every counted repetition unbounded and every repeated group of words as anything on the line.

    RE2 makes a state of its automaton for each way to be inside of `(?: word){0,8}`, when a text first leads there: a
    hostile text of 64 KiB led to so many that it took half a second.
    """
    wide = _COUNTED.sub(lambda counted: "*" if counted.group().startswith("{0") else "+", pattern)
    while (wider := _GROUP.sub(".*", wide)) != wide:
        wide = wider
    return _SOME.sub(".*", wide)
