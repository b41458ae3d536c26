"""smolagents under OpenInference: the answer is given by a tool, and a step that fails is no failure of its own.

smolagents 1.26 with openinference-instrumentation-smolagents 0.1.43. An agent ends by calling the tool `final_answer`,
whose span is named after its class: that is the end of the run and no action.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.model import Step

_ANSWER = "FinalAnswerTool"


def refine(step: Step, seen: Seen) -> None:
    if step.kind == "tool" and step.name.removesuffix(".__call__") == _ANSWER:
        step.kind, step.output = "other", seen.facts.get("output")


DIALECT = Dialect(
    name="smolagents",
    order=92,
    scopes=("openinference.instrumentation.smolagents",),
    keys=("smolagents.",),
    ignored=frozenset({"smolagents.max_steps", "smolagents.tools_names"}),
    refine=refine,
)
