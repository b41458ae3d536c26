"""AgentOps SDK: `agentops.span.kind`, arguments and result of decorated functions under a name for each kind (0.4).

Its instrumentation of model clients also makes a span `tool_call.<name>` of kind TOOL below a model call for each call that
the model asked for: that call may run later, in a span of its own, or never.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import AGENT, CHAIN, GUARDRAIL, LLM, TOOL, Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call, unwrap_python
from trailhound.model import Step

_ASKED = "tool_call."
_KINDS = {
    "session": CHAIN,
    "workflow": CHAIN,
    "task": CHAIN,
    "operation": CHAIN,
    "agent": AGENT,
    "tool": TOOL,
    "llm": LLM,
    "guardrail": GUARDRAIL,
}


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool" and step.name.startswith(_ASKED):
        step.kind = "other"
    elif step.kind == "tool" and step.tool is not None:
        step.tool = tool_call(step.name.removesuffix(".tool"), step.tool.call_id, step.tool.arguments, step.tool.result)
        unwrap_python(step)
    elif step.kind == "agent":
        step.agent = step.agent or step.name.removesuffix(".agent")


DIALECT = Dialect(
    name="agentops",
    order=78,
    keys=("agentops.",),
    kinds={
        "agentops.span.kind": _KINDS
        | {f"AgentOpsSpanKindValues.{name.upper()}": kind for name, kind in _KINDS.items()},
        "gen_ai.request.type": {"chat": LLM, "completion": LLM},
    },
    kind_order=31,
    fields={
        "arguments": ("agentops.tool.input",),
        "result": ("agentops.tool.output",),
        "input": ("agentops.entity.input", "agentops.agent.input", "agentops.operation.input"),
        "output": ("agentops.entity.output", "agentops.agent.output", "agentops.operation.output"),
    },
    refine=refine,
)
