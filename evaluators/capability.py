"""Which actions a tool can do, by the words in its name."""

from __future__ import annotations

import functools
import re

from trailhound.evaluators.tool_words import TELLING

CACHED_NAMES = 4096


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS = _set(
    "get list search lookup look find read fetch check query describe view show retrieve load inspect count calculate compute estimate quote track status browse analyze summarize classify validate preview compare select grep glob ls cat head tail diff scan peek poll watch monitor summarise"
)
"""First words of tools that change nothing."""
READS_OF_GIT = _set("status log diff show blame history")
"""... behind `git`."""
READS_CHINESE = re.compile(r"(?:查|获取|搜索|检索|读取|列出|统计|浏览)[^并后及改删发]{0,12}\Z")
"""Names of the same in Chinese, of tools that do nothing beside."""
READS_LAST = _set("get search lookup find fetch query retrieve")
"""The same as last words: `order_lookup`."""
ANYTHING = _set(
    "bash shell terminal command cmd exec execute python code script sql http api browser computer run agent task workflow invoke call graphql webhook request process handle do perform apply action manage operate"
)
"""Words of tools that can do anything."""
NOTHING = frozenset[str]()
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@functools.lru_cache(CACHED_NAMES)
def can_do(name: str) -> frozenset[str] | None:
    """The actions that a tool of this name can do, by the words in it; None: its name does not tell, so anything."""
    words = [word.lower() for word in _TOKEN.findall(name)]
    if not words:
        return NOTHING if READS_CHINESE.match(name) else None
    if words[0] == "git" and len(words) == 2 and words[1] in READS_OF_GIT:
        return NOTHING
    found = frozenset(name for name, told in TELLING.items() if any(_begins(w, t) for w in words for t in told.tools))
    if words[0] in READS or words[-1] in READS_LAST:
        return frozenset({"test"}) & found
    if words[0] == "handoff" or words in (["transfer", "to", "agent"], ["transfer", "to", "human"]):
        return frozenset({"escalate"})  # what the other agent calls speaks for itself
    if words[0] == "return" or any(word in ANYTHING for word in words):
        return None
    return found or None


def _begins(word: str, of: str) -> bool:
    """`refunding` begins with `refund`; short words are whole words."""
    return word == of if len(of) <= 3 else word.startswith(of)
