"""What one span means for the agent: the step, with its call, model, usage and approvals."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trailhound.model.received import SpanLink
from trailhound.model.words import Decision, Kind, Status, Verdict


@dataclass(slots=True)
class Usage:
    """Tokens of one model call. Input includes cache reads and writes, output includes reasoning; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(slots=True)
class ToolCall:
    """A call of a tool: `arguments` and `result` are parsed JSON where the text is JSON, else the text; None is unseen."""

    name: str
    call_id: str | None = None
    arguments: Any = None
    result: Any = None
    arguments_hash: str | None = None
    """Hash of the canonical JSON of the arguments (`canonical.digest`); None when the arguments were not recorded."""


@dataclass(slots=True, frozen=True)
class Model:
    """Which model was called; steps share equal ones."""

    provider: str | None = None
    request: str | None = None
    response: str | None = None


@dataclass(slots=True)
class Failure:
    type: str | None = None
    message: str | None = None


@dataclass(slots=True)
class Approval:
    """Evidence that someone decided about a tool call; where it was read is in `trace_id`, `span_id`, `source`."""

    decision: Decision
    tool: str | None = None
    call_id: str | None = None
    arguments_hash: str | None = None
    actor: str = "unknown"  # human, policy, hook, model or unknown
    actor_id: str | None = None
    scope: str = "once"  # once, session or always
    holds: bool = False
    """Of a request: who asks runs the call only once somebody has agreed, so that its execution tells of the answer."""
    turn: int | None = None
    pause_id: str | None = None
    """The pause, and the place among its requests and among the answers to them, where an answer names no call."""
    decided_ns: int = 0
    source: str = ""  # the reader that found it, for example `gen_ai.tool.approval`
    service: str = ""
    trace_id: str = ""
    span_id: str = ""
    session_id: str | None = None
    """The session that it is about, where the decision itself names one: the span that tells of it may be in another."""
    user_id: str | None = None
    """Whose session that is."""
    undated: bool = False
    """Whoever told of it gave no time, and it was dated when it came: told again, it would have another."""


@dataclass(slots=True)
class ApprovalVerdict:
    """What the approvals index says about one high-risk call."""

    verdict: Verdict
    by: str | None = None
    evidence: str | None = None
    held: bool = False  # evidence that travels separately may still arrive: nothing is said of the call until then


LATEST_NS = 2**63 - 1
"""The last moment that a step is told of, in 2262: what is kept of runs on disk knows no later one, and a sender may."""


@dataclass(slots=True)
class Step:
    """What one span means for the agent. Pure function of the span (and its log records), except where noted."""

    tenant: str
    trace_id: str
    span_id: str
    parent_span_id: str
    kind: Kind
    name: str
    start_ns: int
    end_ns: int
    """0 while the span is open."""
    status: Status
    service: str
    received_ns: int = 0
    dialects: tuple[str, ...] = ()
    container: bool = False
    """True for agent, chain, workflow and turn spans: they wrap calls and are none themselves. A model call that is one is
    the first call of an agent that goes on inside it, and counts beside those."""
    agent: str | None = None
    """The agent's name on the span itself; the assembler fills it in from the nearest enclosing agent."""
    session_id: str | None = None
    user_id: str | None = None
    task: str | None = None
    tool: ToolCall | None = None
    model: Model | None = None
    usage: Usage | None = None
    """On a container: a rollup of its children, used only when no model call below it carries usage."""
    cost_usd: Decimal | None = None
    """US dollars. The reader sets what the span says; `collector.prices` fills a gap right after, by the span's model,
    usage and time alone, so the step is still a function of its span (and of the price lists of the process)."""
    price_source: str | None = None
    """Who computed the cost: `span` the sender, `file` the user's price file, `genai-prices 0.2.3` the built-in list."""
    error: Failure | None = None
    finish_reasons: tuple[str, ...] = ()
    response_id: str | None = None
    input: Any = None
    output: Any = None
    system_prompt: Any = None
    tool_definitions: Any = None
    tool_requests: tuple[ToolCall, ...] = ()
    """Tool calls that the model asked for in this step's output messages."""
    tool_responses: tuple[ToolCall, ...] = ()
    """Results of earlier calls found in this step's input messages (`call_id` and `result` set)."""
    approvals: tuple[Approval, ...] = ()
    links: tuple[SpanLink, ...] = ()
    hands_to: str | None = None  # the agent that the step hands a task over to, as the span names it
    truncated: bool = False
    instrumentation: str = ""
    """Name of the instrumentation scope that made the span: two of them side by side report one call twice."""
    records_tools: bool = False
    """True when the instrumentation that made this step gives every executed tool a span of its own, so that a tool call
    seen only in a model's messages did not run (it was denied, is pending, or was running when the process died)."""
    remote_parent: bool = False
    """True when the parent lives in another process (OTLP span flags, bits 8 and 9): it may never arrive."""
    local_parent: bool = False
    """True when the sender says that the parent is in its own process: its absence is a loss. Old SDKs say neither."""
    speaks_for_parent: bool = False
    """True for a span that tells how the tool call above it went: that it was decided about, denied, or failed."""
    transport: bool = False
    """True for an MCP client's or server's view of a call, which is no call of its own where an agent's is seen."""
    synthetic: bool = False
    """True for a tool call read out of a model's messages because no tool span exists."""
    service_version: str | None = None
    environment: str | None = None
    size: int = 0  # bytes of its span, about; 0 where nobody counts
    # set by the assembler, because they depend on the neighbours
    counted: bool = True
    """False for a wrapper, transport child or double whose usage and call are not summed."""
    scope_id: str = ""
    """Span id of the nearest enclosing agent (or of the topmost known or announced ancestor): calls of one agent share it."""
    approval: ApprovalVerdict | None = None

    @property
    def metered(self) -> bool:
        """Whether a model call tells what it used: its input and, of all but an embedding, its output."""
        usage = self.usage
        if usage is None or usage.input_tokens is None:
            return False
        return usage.output_tokens is not None or self.kind == "embedding"

    @property
    def order(self) -> tuple[int, int, str]:
        """Steps sort by this, so their order does not depend on arrival."""
        return (self.start_ns, self.end_ns or self.start_ns, self.span_id)
