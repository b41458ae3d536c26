"""docs/testset.md names every option of the plugin, every format, and every part of a contract and of a policy."""

from __future__ import annotations

import re
from pathlib import Path

from trailhound.evaluators.testset.comparison import Policy
from trailhound.evaluators.testset.contract import Contract
from trailhound.evaluators.testset.exchange.base import formats

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "testset.md").read_text(encoding="utf-8")


def test_every_option_of_the_plugin() -> None:
    plugin = (ROOT / "trailhound" / "pytest_plugin.py").read_text(encoding="utf-8")
    options = re.findall(r'addoption\(\s*"(--[a-z-]+)"', plugin)
    assert len(options) > 8
    assert [option for option in options if f"`{option}" not in PAGE] == []


def test_every_format_contract_part_and_policy_key() -> None:
    words = [*formats(), *Contract.model_fields, *Policy.model_fields]
    assert [word for word in words if f"`{word}" not in PAGE] == []
