"""The one domain model: Span and LogRecord as received, Step as understood, Trajectory and Finding as judged.

Everything here is plain data. Spans and steps are created millions of times, so they are slotted and not frozen;
by convention nobody changes one that was handed to them (the assembler alone sets `Step.counted`, `Step.agent`,
`Step.status` and `Step.approval`, which depend on a step's neighbours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

AttributeValue = Any
"""str, bool, int, float, bytes, None, list or dict of these: an OTLP AnyValue as Python data."""

Kind = Literal["llm", "tool", "agent", "retrieval", "embedding", "guardrail", "approval", "handoff", "other"]
Status = Literal["ok", "error", "denied", "pending", "open"]
RunStatus = Literal["open", "waiting", "completed", "failed", "unfinished"]
Severity = Literal["info", "warning", "critical"]
FindingState = Literal["pending", "firing", "resolved"]
Scope = Literal["trajectory", "session", "agent", "user", "tenant"]
Decision = Literal["approved", "denied", "edited", "expired", "cancelled", "requested"]
Verdict = Literal["approved", "denied", "policy", "missing", "unknown"]
Signal = Literal["traces", "logs"]


# ---------------------------------------------------------------- as received


@dataclass(slots=True)
class Resource:
    """Who sent the span: an OpenTelemetry resource, shared by all spans of one ResourceSpans."""

    attributes: dict[str, AttributeValue] = field(default_factory=dict)

    @property
    def service(self) -> str:
        return str(self.attributes.get("service.name") or "unknown_service")

    @property
    def service_version(self) -> str | None:
        value = self.attributes.get("service.version")
        return None if value is None else str(value)

    @property
    def environment(self) -> str | None:
        value = self.attributes.get("deployment.environment.name") or self.attributes.get("deployment.environment")
        return None if value is None else str(value)


@dataclass(slots=True)
class InstrumentationScope:
    name: str = ""
    version: str = ""


@dataclass(slots=True)
class SpanEvent:
    name: str
    time_ns: int
    attributes: dict[str, AttributeValue]


@dataclass(slots=True)
class SpanLink:
    trace_id: str
    span_id: str
    attributes: dict[str, AttributeValue]


@dataclass(slots=True)
class Span:
    """One OTLP span. Ids are lower-case hex; `parent_span_id` is "" for a root; times are Unix nanoseconds."""

    tenant: str
    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, AttributeValue]
    resource: Resource
    scope: InstrumentationScope
    events: list[SpanEvent] = field(default_factory=list)
    links: list[SpanLink] = field(default_factory=list)
    status_code: int = 0  # 0 unset, 1 ok, 2 error (OTLP `Status.StatusCode`)
    status_message: str = ""
    flags: int = 0
    trace_state: str = ""
    dropped: int = 0
    """Attributes, events and links that the sender dropped: content may be missing."""
    received_ns: int = 0  # when the request was received, from the journal's record


@dataclass(slots=True)
class LogRecord:
    """One OTLP log record; `trace_id` and `span_id` are "" when it is not joined to a span."""

    tenant: str
    trace_id: str
    span_id: str
    event_name: str
    body: AttributeValue
    attributes: dict[str, AttributeValue]
    resource: Resource
    scope: InstrumentationScope
    time_ns: int = 0
    severity: int = 0
    received_ns: int = 0


@dataclass(slots=True)
class Record:
    """One acknowledged request as the journal keeps it: an OTLP protobuf request body, decompressed."""

    signal: Signal
    tenant: str
    body: bytes
    received_ns: int


@dataclass(slots=True)
class Rejected:
    """A span that could not be kept, and why; the rest of its request is unharmed."""

    reason: str
    trace_id: str = ""
    span_id: str = ""
    path: str = ""


# ---------------------------------------------------------------- as understood


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


@dataclass(slots=True)
class ApprovalVerdict:
    """What the approvals index says about one high-risk call."""

    verdict: Verdict
    by: str | None = None
    evidence: str | None = None
    held: bool = False  # evidence that travels separately may still arrive: nothing is said of the call until then


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
    """True for agent, chain, workflow and turn spans: they wrap calls and are none themselves."""
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


# ---------------------------------------------------------------- as judged


@dataclass(slots=True)
class Totals:
    """Sums over the counted steps of a run, or over runs. Tokens and cost: of the steps that tell, None when none does."""

    steps: int = 0
    turns: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None
    unpriced_calls: int = 0
    """Answered model calls whose cost is unknown."""
    unmetered_calls: int = 0
    """Answered model calls whose input or output tokens are unknown, so that the sums of tokens are too low."""

    @property
    def tokens(self) -> int | None:
        """Input and output together, as far as known; None when neither is."""
        known = [part for part in (self.input_tokens, self.output_tokens) if part is not None]
        return sum(known) if known else None

    @classmethod
    def over(cls, parts: Iterable[Totals]) -> Totals:
        """The totals of several runs."""
        total, given = cls(), list(parts)
        for name in cls.__slots__:
            known = [value for part in given if (value := getattr(part, name)) is not None]
            if known:
                setattr(total, name, sum(known))
        return total


@dataclass(frozen=True, slots=True, order=True)
class Joined:
    """Why two traces are one run: as in `runs.join`; the asking trace, the other, and the call's or the joining span's id."""

    kind: str
    first: str
    second: str
    evidence: str


@dataclass(slots=True)
class Run:
    """The header of a trajectory: what a rule may know of the run besides its steps."""

    trajectory_id: str
    tenant: str
    service: str
    trace_ids: list[str]
    status: RunStatus = "open"
    status_reason: str = ""
    """Why it has this status: `root_ended`, `idle`, ...; `collector.assemble.life.REASONS` lists all."""
    agent: str | None = None
    agents: list[str] = field(default_factory=list)
    session_id: str | None = None
    user_id: str | None = None
    task: str | None = None
    service_version: str | None = None
    environment: str | None = None
    started_ns: int = 0
    ended_ns: int = 0
    """Last end seen so far, 0 when nothing has ended."""
    waited_ns: int = 0
    """Time between its start and its end that it waited for a person: not counted as its duration."""
    dialects: list[str] = field(default_factory=list)
    called_services: tuple[str, ...] = ()
    """Other services of which a span was called from this run's own (set when it ends): an agent there may have no name."""
    joins: tuple[Joined, ...] = ()
    """What makes its traces one run; not kept in the row, as its spans tell it again."""
    input: Any = None
    output: Any = None
    totals: Totals = field(default_factory=Totals)
    # what earlier runs tell, set before the rules are asked; neither stored nor shown
    baseline: Any = field(default=None, repr=False, compare=False)
    """What runs of this agent and task normally cost (`evaluators.baseline.Baseline`); None: not known."""
    earlier_calls: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Names of the tools that earlier runs of the session called successfully."""
    calls: Sequence[Step] = field(default=(), repr=False, compare=False)
    """The steps that rules see, in order; there only while rules are asked to conclude."""
    previous: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    """Name of an agent -> what it was made of in its run before (`evaluators.profile.Profile`, or None)."""


@dataclass(slots=True)
class Finding:
    """What a rule says about a run, a session or an agent. `finding_id` is a hash, equal on every replay."""

    finding_id: str
    rule: str
    severity: Severity
    state: FindingState
    scope: Scope
    tenant: str
    service: str
    agent: str | None
    trajectory_id: str | None
    session_id: str | None
    summary: str
    expected: str
    actual: str
    evidence: list[tuple[str, str]]
    """(trace id, span id), in step order."""
    first_seen_ns: int
    last_seen_ns: int
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """Findings of one rule about one agent, grouped for a person: one problem from its start to its end."""

    alert_id: str
    rule: str
    tenant: str
    service: str
    agent: str | None
    severity: Severity
    """The highest of its findings so far."""
    state: FindingState
    count: int
    """Different findings."""
    examples: tuple[str, ...]
    """Ids of the first runs that it was seen in, at most five."""
    starts_ns: int
    ends_ns: int
    """0 while it stands."""


@dataclass(slots=True)
class Trajectory:
    """One run of an agent: its header, its steps in order, and what the rules say of it."""

    run: Run
    steps: list[Step]
    findings: list[Finding] = field(default_factory=list)
