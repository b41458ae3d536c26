"""Laminar: `lmnr.*` beside the numbered prompts of OpenLLMetry and `gen_ai.*` usage (wire facts of 2026-06)."""

from trailhound.collector.dialects.base import CHAIN, LLM, OTHER, TOOL, Dialect

DIALECT = Dialect(
    name="laminar",
    order=35,
    keys=("lmnr.",),
    kinds={"lmnr.span.type": {"LLM": LLM, "TOOL": TOOL, "DEFAULT": CHAIN, "CACHED": OTHER}},
    kind_order=220,
    fields={
        "input": ("lmnr.span.input",),
        "output": ("lmnr.span.output",),
        "lmnr_path": ("lmnr.span.path", "lmnr.span.ids_path"),
    },
)
