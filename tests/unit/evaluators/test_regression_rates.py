"""How often the rule `regression` is wrong and how often it misses, by the bench in small; seeds make it exact."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _bench() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "bench_regression.py"
    spec = importlib.util.spec_from_file_location("bench_regression", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_regression"] = module
    spec.loader.exec_module(module)
    return module


BENCH = _bench()


@pytest.mark.parametrize("sigma", BENCH.SIGMAS)
def test_unchanged_runs_are_hardly_ever_flagged(sigma: float) -> None:
    assert BENCH.false_alarms(sigma, 2000, 7).interval()[0] <= 0.005


def test_dearer_runs_are_found() -> None:
    assert BENCH.power(0.1, 1.8, 300, 7).interval()[0] >= 0.95
    one_alone = [BENCH.power(0.1, 1.8, 300, 7, dear=(metric,)) for metric in BENCH.ALL]
    assert BENCH.together(one_alone).interval()[1] >= 0.95
    assert BENCH.power(0.3, 3.0, 300, 7).interval()[1] >= 0.99


def test_a_dearer_version_is_found_and_an_unchanged_one_is_not() -> None:
    assert BENCH.versions(0.3, 1.5, 20, 7).share == 1
    assert BENCH.versions(0.3, 1.0, 40, 7).share == 0
