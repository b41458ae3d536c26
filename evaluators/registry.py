"""Finds the evaluators: every class with a `rule` in a module of this package; a new rule is one new file."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import trailhound.evaluators
from trailhound.evaluators.base import Evaluator, RuleSettings

EvaluatorType = type[Evaluator[Any, Any]]


@functools.cache
def evaluator_types() -> dict[str, EvaluatorType]:
    """All evaluators by rule id, in alphabetical order; two with the same id are a programming error (ValueError)."""
    found: dict[str, EvaluatorType] = {}
    for module in pkgutil.iter_modules(trailhound.evaluators.__path__):
        if module.ispkg:
            continue
        for cls in vars(importlib.import_module(f"trailhound.evaluators.{module.name}")).values():
            if not is_rule(cls):
                continue
            if found.setdefault(cls.rule, cls) is not cls:
                raise ValueError(f"two evaluators have the rule id {cls.rule!r}: {found[cls.rule]} and {cls}")
    return dict(sorted(found.items()))


def is_rule(cls: object) -> bool:
    """Whether `cls` is an evaluator with a rule id of its own."""
    return isinstance(cls, type) and issubclass(cls, Evaluator) and "rule" in vars(cls)


@dataclass(frozen=True)
class RuleDescription:
    """What `trailhound rules` tells of a rule."""

    rule: str
    summary: str
    """First line of the documentation."""
    documentation: str
    scopes: tuple[str, ...]
    settings: dict[str, Any]
    """JSON Schema of what may stand under `rules.<id>`."""


def describe(further: Mapping[str, EvaluatorType] | None = None) -> list[RuleDescription]:
    """Every rule, and those of `further`, with documentation and settings."""
    return [_describe(cls) for cls in {**evaluator_types(), **(further or {})}.values()]


def _describe(cls: EvaluatorType) -> RuleDescription:
    documentation = inspect.cleandoc(cls.__doc__ or "")
    settings: type[RuleSettings] = cls.SettingsType
    summary = documentation.partition("\n")[0]
    return RuleDescription(cls.rule, summary, documentation, cls.scopes, settings.model_json_schema())
