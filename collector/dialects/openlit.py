"""OpenLIT: OTel GenAI with the cost on the span; a `gen_ai.tool.name` on a chat span is a call that the model asked for."""

from trailhound.collector.dialects.base import Dialect

DIALECT = Dialect(
    name="openlit",
    order=44,
    scopes=("openlit", "openlit."),
    keys=("openlit.", "gen_ai.agent.human_input"),
    fields={"cost": ("gen_ai.usage.cost",), "input": ("gen_ai.agent.human_input",)},
)
