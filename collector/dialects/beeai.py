"""BeeAI under OpenInference: arguments beside the options of the run, and an answer that is given by a tool.

beeai-framework 0.1 with openinference-instrumentation-beeai 0.1. A RequirementAgent ends by calling `final_answer`. What an
emitter tells beside start and end is a span of its own, of the kind of what it is about: `error` says that it failed.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step

_ANSWER, _ERROR = "final_answer", "error"


def refine(step: Step, seen: Seen) -> None:
    tool = step.tool
    if step.kind == "agent" and step.name == _ANSWER:  # an emitter's own span around the tool
        step.kind, step.agent = "other", None
    if step.name == _ERROR and "tool_name" not in seen.facts:
        step.kind, step.container = "other", False
    if step.kind != "tool" or tool is None:
        return
    if tool.name == _ANSWER:
        step.kind, step.output = "other", seen.facts.get("output")
    elif isinstance(tool.arguments, dict) and tool.arguments.keys() == {"input", "options"}:
        step.tool = tool_call(tool.name, tool.call_id, tool.arguments["input"], tool.result)


DIALECT = Dialect(name="beeai", order=93, scopes=("openinference.instrumentation.beeai",), refine=refine)
