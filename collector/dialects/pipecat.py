"""Pipecat: spans `conversation` > `turn` > `llm`, `stt`, `tts`, content under bare `input` and `output` (1.14)."""

from trailhound.collector.dialects.base import CHAIN, LLM, OTHER, Dialect

DIALECT = Dialect(
    name="pipecat",
    order=56,
    scopes=("pipecat", "pipecat."),
    names={"conversation": CHAIN, "turn": CHAIN, "llm": LLM, "stt": OTHER, "tts": OTHER},
    fields={
        "input": ("input",),
        "output": ("output",),
        "tool_definitions": ("tools",),
        "session": ("conversation.id",),
    },
)
