"""Finds evaluators of other people: by the entry-point group `trailhound.evaluators` and in a configured folder."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from trailhound.canonical import stable_id
from trailhound.errors import Invalid
from trailhound.evaluators.base import Evaluator
from trailhound.evaluators.registry import EvaluatorType, evaluator_types, is_rule
from trailhound.model import Kind

GROUP = "trailhound.evaluators"
"""Each entry point names an evaluator class, or a module with some."""
_RULE_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_KINDS: tuple[Kind, ...] = get_args(Kind)
_TEST = re.compile(r"(?:test_.*|.*_test|conftest)\.py")
"""Files that pytest looks for: tests of evaluators lie beside them."""


def foreign_types(folder: Path | None) -> dict[str, EvaluatorType]:
    """Evaluators by rule id, those of installed packages first.

    Raises Invalid that names the file or package when one cannot be loaded, has no usable rule id, or takes one that
    another rule has.
    """
    found: dict[str, EvaluatorType] = {}
    places: dict[str, str] = dict.fromkeys(evaluator_types(), "Trailhound")
    for place, classes in (*_installed(), *_in(folder)):
        for cls in classes:
            _check(cls, place, places)
            found[cls.rule] = cls
            places[cls.rule] = place
    return found


def _check(cls: EvaluatorType, place: str, places: dict[str, str]) -> None:
    if not isinstance(cls.rule, str) or _RULE_ID.fullmatch(cls.rule) is None:
        raise Invalid(
            f"{place}: {cls.rule!r} is no rule id; write words in lower case, like `slow-tool`", reason="config"
        )
    if cls.rule in places:
        raise Invalid(f"{place}: the rule id `{cls.rule}` is taken by {places[cls.rule]}", reason="config")
    if not isinstance(getattr(cls, "reads", None), tuple) or not (cls.__doc__ or "").strip():
        raise Invalid(f"{place}: {cls.__name__} needs `reads` (a tuple of kinds) and a docstring", reason="config")
    for kind in cls.reads:
        if kind not in _KINDS:
            raise Invalid(
                f"{place}: {cls.__name__} reads {kind!r}, which is no kind of step; known: {', '.join(_KINDS)}",
                reason="config",
            )
    if cls.reads and cls.step is Evaluator.step:
        raise Invalid(f"{place}: {cls.__name__} reads steps and needs `step`, which takes them", reason="config")


@functools.cache
def _installed() -> tuple[tuple[str, tuple[EvaluatorType, ...]], ...]:
    found = []
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda p: p.name):
        place = f"entry point {point.name} ({point.value})"
        try:
            loaded = point.load()
        except (Exception, SystemExit) as error:
            raise Invalid(f"{place}: cannot be loaded: {_said(error)}", reason="config") from error
        found.append((place, _rules_of(loaded) if isinstance(loaded, ModuleType) else _rules_of_one(loaded, place)))
    return tuple(found)


def _rules_of_one(loaded: Any, place: str) -> tuple[EvaluatorType, ...]:
    if not is_rule(loaded):
        raise Invalid(f"{place}: is no evaluator class and no module", reason="config")
    return (loaded,)


def _in(folder: Path | None) -> tuple[tuple[str, tuple[EvaluatorType, ...]], ...]:
    if folder is None:
        return ()
    if not folder.is_dir():
        raise Invalid(f"evaluators.folder: {folder} is no folder", reason="config")
    files = sorted(path.resolve() for path in folder.glob("*.py") if not _TEST.fullmatch(path.name))
    return tuple((str(path), _rules_of(_module(path, path.stat().st_mtime_ns))) for path in files)


@functools.lru_cache(256)
def _module(path: Path, changed_ns: int) -> ModuleType:
    name = f"trailhound_evaluators_{stable_id(str(path))[:8]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Invalid(f"{path}: cannot be loaded", reason="config")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script that ends itself must not end Trailhound without a word
        del sys.modules[name]
        raise Invalid(f"{path}: cannot be loaded: {_said(error)}", reason="config") from error
    return module


def _rules_of(module: ModuleType) -> tuple[EvaluatorType, ...]:
    """The rules that a module defines; those that it imports are others'."""
    return tuple(c for c in vars(module).values() if is_rule(c) and c.__module__ == module.__name__)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
