"""docs/rules/: one page for each rule, out of its docstring, its settings and a finding in a recorded run."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pages import NOTE, table
from pages.configuration import rows
from pages.settings import settings
from trailhound.demands import ArgumentCheck, Demands, Order
from trailhound.evaluators.registry import EvaluatorType, evaluator_types

ROOT = Path(__file__).parents[2]
CONFIG = "deploy/demo/trailhound.yaml"
EXAMPLES = {
    "arguments": "openai_agents_traceloop/tool_error",
    "forbidden-tool": "agent_framework_native/no_approval",
    "missing-tool": "openai_agents_traceloop/tool_error",
    "regression": "docs/rules/recorded/regression.json",
    "drift": "docs/rules/recorded/drift.json",
    "false-claim": "docs/rules/recorded/false-claim.json",
    "injection": "docs/rules/recorded/injection.json",
    "order": "openai_agents_traceloop/pingpong",
    "approval": "agent_framework_native/no_approval",
    "budget": "openai_agents_traceloop/budget",
    "cycle": "openai_agents_traceloop/pingpong",
    "lost-subagent": "docs/rules/lost_subagent.json",
    "loop": "pydantic_ai_v5/loop",
    "tool-error": "agent_framework_native/tool_error",
    "unfinished": "langgraph_openinference/crash",
}
"""A recorded run (below tests/captures/, else made for its page) in which each rule has something to say."""
REGRESSION_CONFIG = "docs/rules/regression.yaml"
CONTRACT_CONFIG = "docs/rules/contracts.yaml"
BY_CONTRACT: dict[str, tuple[str, type[BaseModel]]] = {
    "arguments": ("contracts[].arguments.<tool>.<argument>.", ArgumentCheck),
    "forbidden-tool": ("contracts[].", Demands),
    "missing-tool": ("contracts[].", Demands),
    "order": ("contracts[].order.", Order),
}
"""Rules that take what they judge by from `contracts`: the part of it that they read."""
CONFIGS = {**dict.fromkeys(BY_CONTRACT, CONTRACT_CONFIG), "regression": REGRESSION_CONFIG}
SHOWN = ("rule", "severity", "scope", "summary", "expected", "actual", "details")

_INTRO = f"""# Rules

{NOTE}
Each rule is an evaluator: a fold over the calls of a run in order, which raises, changes and takes back findings as steps come. `trailhound rules` prints the same pages in the terminal.

A finding's id is a hash of what it is about, so the same facts give the same id on every replay, and a finding that gets worse keeps its id while its severity rises.

"""


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    found = {f"{rule}.md": _page(rule, cls) for rule, cls in evaluator_types().items()}
    found["index.md"] = _INTRO + table(("rule", "says"), (_line(rule, cls) for rule, cls in evaluator_types().items()))
    return found


def _line(rule: str, cls: EvaluatorType) -> tuple[str, str]:
    return f"[{rule}]({rule}.md)", inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]


def _page(rule: str, cls: EvaluatorType) -> str:
    about = inspect.cleandoc(cls.__doc__ or "")
    found = rows([s for prefix, model in _read(rule, cls) for s in settings(model, prefix)])
    return f"# {rule}\n\n{NOTE}\n{about}\n\n## Settings\n\n{found}\n## Example\n\n{_example(rule)}"


def _read(rule: str, cls: EvaluatorType) -> list[tuple[str, type[BaseModel]]]:
    """Where the settings of a rule stand, and their models."""
    own: list[tuple[str, type[BaseModel]]] = [(f"rules.{rule}.", cls.SettingsType)]
    return [*own, BY_CONTRACT[rule]] if rule in BY_CONTRACT else own


def _example(rule: str) -> str:
    recording = EXAMPLES[rule] if EXAMPLES[rule].startswith("docs/") else f"tests/captures/{EXAMPLES[rule]}"
    config = CONFIGS.get(rule, CONFIG)
    command = f"trailhound check {recording} --config {config} --format json"
    finding = next(f for f in _findings(recording, config) if f["rule"] == rule)
    shown = json.dumps({key: finding[key] for key in SHOWN}, indent=2, ensure_ascii=False)
    return f"In a recorded run,\n\n```sh\n{command}\n```\n\nfinds, among its other fields:\n\n```json\n{shown}\n```\n"


def _findings(recording: str, config: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "trailhound", "check", recording, "--config", config, "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    report: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return report["findings"]
