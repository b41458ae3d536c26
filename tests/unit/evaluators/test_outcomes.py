"""Failures that come back as data."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.evaluators.outcomes import says_failed


@pytest.mark.parametrize(
    "result",
    [
        {"isError": True, "content": [{"type": "text", "text": "no"}]},
        {"is_error": True, "rows": []},
        {"error": "no such order"},
        {"error": {"code": 404}},
        {"success": False, "error": "not allowed", "request_id": "r1"},
        {"error": True, "message": "busy"},
    ],
)
def test_a_failure_by_its_form(result: Any) -> None:
    assert says_failed(result)


@pytest.mark.parametrize(
    "result",
    [
        None, "Error: no", [], {"error": None}, {"error": ""}, {"error": {}}, {"error": False}, {"error": 0.2},
        {"isError": False}, {"isError": "true"}, {"errors": ["x"]}, {"error": "disk full", "level": "warn"},
        {"error": "partial", "rows": [1]}, {1: 2, "error": "x"},
    ],
)  # fmt: skip
def test_data_that_mentions_errors(result: Any) -> None:
    assert not says_failed(result)
