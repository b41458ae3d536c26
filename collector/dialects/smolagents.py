"""smolagents, whoever instruments it: the answer is given by a tool, and a step that fails is no failure of its own.

smolagents 1.26 with openinference-instrumentation-smolagents 0.1.43 and openlit 1.45. An agent ends by calling the tool
`final_answer`, whose span OpenInference names after its class: that is the end of the run and no action.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.model import Step

_STEP = "gen_ai.smolagents.step_number"
"""OpenLIT reports each step of an agent as one more `invoke_agent` of its name."""
_ANSWERS = ("FinalAnswerTool", "final_answer")


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "agent" and _STEP in seen.span.attributes:
        step.kind = "other"
    tool = step.tool
    if tool is not None and (tool.name in _ANSWERS or step.name.removesuffix(".__call__") in _ANSWERS):
        step.kind, step.output = "other", seen.facts.get("output", tool.result)


DIALECT = Dialect(
    name="smolagents",
    order=92,
    scopes=("*smolagents",),
    keys=("smolagents.",),
    ignored=frozenset({"smolagents.max_steps", "smolagents.tools_names"}),
    refine=refine,
)
