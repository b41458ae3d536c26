"""The cache normaliser: four rules, in order."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.dialects import read
from trailhound.collector.dialects.usage import normalise
from trailhound.model import InstrumentationScope, Usage
from trailhound.testing import make_span


@pytest.mark.parametrize(
    ("facts", "exclusive", "expected"),
    [
        ({"input_tokens": 100, "output_tokens": 5}, False, Usage(100, 5)),
        ({"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 40}, False, Usage(100, 5, 40)),
        ({"input_tokens": 100, "cache_read_tokens": 40, "cache_write_tokens": 7}, True, Usage(147, None, 40, 7)),
        ({"input_tokens": 10, "cache_read_tokens": 40, "cache_write_tokens": 7}, False, Usage(57, None, 40, 7)),
        ({"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 40, "total_tokens": 145}, False, Usage(140, 5, 40)),
        ({"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 40, "total_tokens": 105}, False, Usage(100, 5, 40)),
        ({"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 40, "total_tokens": 999}, False, Usage(100, 5, 40)),
        ({"provider": "gcp.gen_ai", "input_tokens": 100, "output_tokens": 5, "total_tokens": 112}, False, Usage(100, 12, reasoning_tokens=7)),
        ({"response_model": "gemini-3-pro", "input_tokens": 100, "output_tokens": 5, "reasoning_tokens": 7, "total_tokens": 112}, False, Usage(100, 12, reasoning_tokens=7)),
        ({"provider": "gemini", "input_tokens": 100, "output_tokens": 5, "reasoning_tokens": 2, "total_tokens": 105}, False, Usage(100, 5, reasoning_tokens=2)),
        ({"input_tokens": "100", "output_tokens": "5", "cache_read_tokens": "0"}, False, Usage(100, 5, 0)),
        ({"output_tokens": 5, "cache_read_tokens": 40}, True, Usage(None, 5, 40)),
        ({"input_tokens": 1, "output_tokens": 9, "reasoning_tokens": 4}, False, Usage(1, 9, reasoning_tokens=4)),
        ({"input_tokens": -1, "output_tokens": True}, False, None),
        ({"input_tokens": "many"}, False, None),
        ({}, False, None),
    ],
)  # fmt: skip
def test_input_becomes_inclusive(facts: dict[str, Any], exclusive: bool, expected: Usage | None) -> None:
    assert normalise(facts, exclusive=exclusive) == expected


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.cache_read.input_tokens": 4, "gen_ai.usage.cache_write.input_tokens": 3, "gen_ai.usage.reasoning.output_tokens": 1},
        {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 2, "gen_ai.usage.cache_read_input_tokens": 4, "gen_ai.usage.cache_creation_input_tokens": 3, "gen_ai.usage.reasoning_tokens": 1},
        {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.cache_read.input_tokens": 4, "gen_ai.usage.cache_creation.input_tokens": 3, "gen_ai.usage.details.reasoning_tokens": 1},
        {"llm.token_count.prompt": 9, "llm.token_count.completion": 2, "llm.token_count.prompt_details.cache_read": 4, "llm.token_count.prompt_details.cache_write": 3, "llm.token_count.completion_details.reasoning": 1},
    ],
)  # fmt: skip
def test_old_and_new_names_give_the_same_usage(attributes: dict[str, Any]) -> None:
    assert read(make_span({"gen_ai.operation.name": "chat", **attributes})).usage == Usage(9, 2, 4, 3, 1)


def test_a_container_keeps_its_rollup() -> None:
    step = read(
        make_span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.aggregated_usage.input_tokens": 9,
                "gen_ai.aggregated_usage.output_tokens": 2,
            }
        )
    )
    assert (step.kind, step.container, step.usage) == ("agent", True, Usage(9, 2))


def test_botocore_counts_cached_tokens_beside_the_input() -> None:
    """Also where they are fewer than the rest, which no sum gives away."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 304, "gen_ai.usage.output_tokens": 61}
    scope = InstrumentationScope("opentelemetry.instrumentation.botocore.bedrock-runtime")
    step = read(make_span(attributes | {"gen_ai.usage.cache_read.input_tokens": 256}, scope=scope))
    assert step.usage == Usage(560, 61, 256)
