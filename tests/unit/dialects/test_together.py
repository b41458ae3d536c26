"""Spans that are read together: in their order, as each by itself, with one copy of what they repeat."""

from __future__ import annotations

import json

from trailhound.collector.decode import decode_traces
from trailhound.collector.dialects import read, read_all
from trailhound.model import Record
from trailhound.testing import make_span
from trailhound.testing_load import LoadMaker


def test_spans_read_together_are_read_as_each_by_itself_and_keep_their_order() -> None:
    spans = [received.span for received in decode_traces(Record("traces", "t", LoadMaker(7).body(2), 1)).spans]
    assert len({len(span.attributes) for span in spans}) > 2
    assert read_all(spans) == [read(span) for span in spans]
    assert read_all([]) == []


def test_what_model_calls_repeat_is_kept_once() -> None:
    history = [
        {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
        {"role": "user", "parts": [{"type": "text", "content": "where is it?"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": '{"found": [1, 2]}'}]},
    ]
    first, second = (
        read(make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(given)}))
        for given in (history, [*history, {"role": "user", "parts": [{"type": "text", "content": "where is it?"}]}])
    )
    assert first.system_prompt is second.system_prompt
    assert first.input is second.input
    assert first.tool_responses[0].result == {"found": [1, 2]}
    assert first.tool_responses[0].result is second.tool_responses[0].result
