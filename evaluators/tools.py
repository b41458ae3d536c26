"""What the configuration declares about the agent's tools, looked up by the name that a span carries."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from trailhound.config import Tool
from trailhound.demands import TaskContract
from trailhound.errors import Invalid
from trailhound.evaluators.contracts import Contracts
from trailhound.evaluators.expressions import Expression, Uncomputable
from trailhound.evaluators.likeness import Shape, mark_of, shape_of
from trailhound.evaluators.outcomes import says_failed
from trailhound.evaluators.partial import is_partial
from trailhound.evaluators.patterns import Pattern
from trailhound.model import Step, ToolCall

CACHED_NAMES = 4096
"""Names come from models: the look-up is cached for so many of them."""


REMEMBERED = 128
"""Calls whose mark is remembered: twice as many as one fold takes at once."""


class Declared:
    """One entry of `tools` with its expressions and patterns compiled."""

    def __init__(self, tool: Tool, where: str) -> None:
        self.tool = tool
        self.poll = tool.poll
        self.volatile = frozenset(tool.volatile)
        self.high_risk = tool.risk == "high" and tool.approval == "required"
        self.when = Expression(tool.when, "args", f"{where}.when") if tool.when else None
        self.error_when = Expression(tool.error_when, "result", f"{where}.error_when") if tool.error_when else None
        self.claims = tuple(Pattern(text, f"{where}.claims") for text in tool.claims)


UNDECLARED = Declared(Tool(match=[]), "tools")
"""What is assumed of a tool that no entry matches."""
WAITING = Declared(Tool(match=[], poll=True), "tools")
"""... and of one that by its name only lets time pass."""
WAITS = frozenset({"sleep", "wait", "delay"})

INTERFACE = frozenset(
    "click doubleclick press tap key keypress scroll swipe hover drag type hotkey goback navigate mouse".split()  # noqa: SIM905
)
"""First words of tools that work a screen: what a call of them does depends on what came before it."""
MAKING = frozenset("send create pay charge refund transfer submit post notify issue reply email".split())  # noqa: SIM905
"""First words of tools that make something anew with each call, and number it."""
_FIRST_WORD = re.compile(r"[A-Z]?[a-z]+")


@functools.lru_cache(CACHED_NAMES)
def first_word(name: str) -> str:
    """`click` of `click_button`, `clickButton` and `mcp__browser__click_button`, in lower case."""
    found = _FIRST_WORD.search(bare_name(name))
    return found.group().lower() if found is not None else ""


class Tools:
    """The `tools` section (first match wins) and the `contracts`, which demand calls of them. Raises Invalid that names what does not compile."""

    def __init__(self, declared: list[Tool], contracts: list[TaskContract] | None = None) -> None:
        for index, tool in enumerate(declared):
            if not tool.match:
                raise Invalid(f"tools.{index}.match: names no tool", reason="config")
        self._entries = [(tool.match, Declared(tool, f"tools.{index}")) for index, tool in enumerate(declared)]
        self.any_high_risk = any(declared.high_risk for _, declared in self._entries)
        """Whether any call can need an approval."""
        self._any_error_when = any(declared.error_when is not None for _, declared in self._entries)
        self.of = functools.lru_cache(CACHED_NAMES)(self._find)
        self.contracts = Contracts(contracts or [])
        self.claiming = tuple(declared for _, declared in self._entries if declared.claims)
        """The entries that say how an answer claims what their tools do."""
        self._marked: dict[int, tuple[ToolCall, Any, int | None]] = {}
        """Of the last calls that were asked about, by identity, with their arguments then: neighbours may tell more."""

    def _find(self, name: str) -> Declared:
        """What is declared of the tool `name`: whole names, `*`, `?` and `[..]` over the whole name, case matters."""
        for patterns, declared in self._entries:
            if is_named(name, patterns):
                return declared
        return WAITING if bare_name(name) in WAITS else UNDECLARED

    def mark(self, call: ToolCall) -> int | None:
        """What tells most calls apart without looking at all they ask (`likeness.mark_of`); None for a tool declared
        `poll` and for arguments that were not recorded whole.

        The last ones are remembered: rule after rule, scope after scope asks about the same calls.
        """
        known = self._marked.get(id(call))
        arguments = call.arguments
        if known is not None and known[0] is call and known[1] is arguments:
            return known[2]
        declared = self.of(call.name)
        unseen = arguments is None or is_partial(arguments)  # many calls begin alike
        mark = None if unseen or declared.poll else mark_of(call.name, arguments, declared.volatile)
        if len(self._marked) >= REMEMBERED:
            self._marked.clear()
        self._marked[id(call)] = (call, arguments, mark)
        return mark

    def shape(self, call: ToolCall) -> Shape:
        """What a call asks for, to compare it with others."""
        return shape_of(call.name, call.arguments, self.of(call.name).volatile)

    def needs_approval(self, step: Step) -> bool:
        """Whether this step is a tool call that must not run without an approval."""
        tool = step.tool
        return self.any_high_risk and tool is not None and self.of(tool.name).high_risk and self.high_risk(tool)[0]

    def high_risk(self, call: ToolCall) -> tuple[bool, str | None]:
        """Whether this call needs an approval, and why `when` could not be computed (it then counts as true)."""
        declared = self.of(call.name)
        if not declared.high_risk or declared.when is None:
            return declared.high_risk, None
        if call.arguments is None:
            return True, "the arguments were not recorded"
        try:
            return declared.when(call.arguments), None
        except Uncomputable as error:
            return True, str(error)

    def failed(self, call: ToolCall) -> bool:
        """Whether the result says that the call failed: by `error_when` where that can be computed, else by its form."""
        result = call.result
        if result.__class__ is not dict and not self._any_error_when:
            return False
        if self._any_error_when and result is not None:
            error_when = self.of(call.name).error_when
            if error_when is not None:
                try:
                    return error_when(result)
                except Uncomputable:
                    pass  # then its form decides
        return result.__class__ is dict and says_failed(result)


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Whether a tool's name, or its bare name if it is an MCP tool's or a plugin's, is one of `patterns` (names or globs)."""
    bare = bare_name(name)
    if any(fnmatchcase(name, each) or fnmatchcase(bare, each) for each in patterns):
        return True
    # Gemini CLI names the tool `mcp_shop_issue_refund`: where the server's name ends cannot be seen
    return bare.startswith("mcp_") and any(fnmatchcase(bare, f"mcp_*_{each}") for each in patterns)


def bare_name(name: str) -> str:
    """`issue_refund` of `mcp__shop__issue_refund` (the names that MCP clients give the tools of a server), and of
    `Shop.issue_refund`, `shop/issue_refund` and `shop:issue_refund` (a tool of a plugin, server or name space), else
    `name`."""
    if not name.startswith("mcp__"):
        return name.rpartition(".")[2].rpartition("/")[2].rpartition(":")[2] or name
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return tool if server and tool else name


def is_one_tool(name: str, other: str) -> bool:
    """Whether both may name one tool: the same, or one is the bare name of the other. Two servers' tools are two."""
    return name == other or (bare_name(name) == bare_name(other) and bare_name(name) in (name, other))
