"""The rules that a configuration asks for, checked and ready to judge."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from trailhound.checked import near, validated
from trailhound.clock import Clock, SystemClock
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.evaluators.base import Draft, Evaluator, Needs, RuleSettings, State
from trailhound.evaluators.dealing import Dealing
from trailhound.evaluators.foreign import Guarded, Malformed, TooSlow
from trailhound.evaluators.gate import Gate, Gates
from trailhound.evaluators.named import check_names
from trailhound.evaluators.plugins import foreign_types
from trailhound.evaluators.registry import EvaluatorType, evaluator_types
from trailhound.evaluators.suppress import Suppressions
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Scope

if TYPE_CHECKING:  # `check` does without the library for metrics, which takes long to load
    from trailhound.metrics import Metrics

log = logging.getLogger(__name__)


Conclusion = tuple[int, Callable[[Any, Run], Iterable[Draft]], Needs]
"""(place of a rule, its `conclude`, what must be there before that has anything to say)."""


class ScopeRules:
    """The rules of one scope, and the places of those that take part in something."""

    def __init__(self, scope: Scope, evaluators: list[Evaluator[Any, Any]]) -> None:
        self.evaluators = tuple(evaluators)
        self.begins = tuple(_beginning(e, scope) for e in evaluators)
        """What makes a fresh state of each."""
        self.dealing = Dealing(self.evaluators)
        self.blanks = {
            i: State()
            for i, e in enumerate(evaluators)
            if not e.reads and type(e).begin is Evaluator.begin and e.StateType is State
        }
        """The states, for all scopes, of the rules that are fed no steps: only steps change a state."""
        self.concluding: tuple[Conclusion, ...] = tuple(
            (i, e.conclude, e.needs) for i, e in enumerate(evaluators) if type(e).conclude is not Evaluator.conclude
        )
        self.compare_runs = all(e.compares_runs for e in evaluators)
        """Whether in a scope wider than a run none of them speaks before a second run is there."""
        self.concluding_early = tuple(each for each in self.concluding if evaluators[each[0]].concludes_early)
        self.gates = _gates(scope, evaluators)
        """Of all rules; none where one of them has none."""


def _gates(scope: Scope, evaluators: list[Evaluator[Any, Any]]) -> Gates:
    if not evaluators or any(evaluator.gate(scope) is None for evaluator in evaluators):
        return ()
    return tuple(partial(_gate, evaluator, scope) for evaluator in evaluators)


def _gate(evaluator: Evaluator[Any, Any], scope: Scope) -> Gate:
    gate = evaluator.gate(scope)
    assert gate is not None
    return gate


def _beginning(evaluator: Evaluator[Any, Any], scope: Scope) -> Callable[[], State]:
    plain = type(evaluator).begin is Evaluator.begin
    return evaluator.StateType if plain else partial(evaluator.begin, scope)


class RuleSet:
    """All enabled rules with their settings and the declared tools; shared by the judges of all scopes.

    Raises Invalid naming an unknown rule, an unknown or wrong setting, or an expression that does not compile.
    """

    def __init__(self, config: Config, *, metrics: Metrics | None = None, clock: Clock | None = None) -> None:
        self.tools = Tools(config.tools, config.contracts)
        self._metrics = metrics
        self.suppressions = Suppressions(config.suppress)
        own, foreign = evaluator_types(), foreign_types(config.evaluators.folder)
        types = {**own, **foreign}
        for rule in config.rules:
            if rule not in types:
                raise Invalid(_unknown(rule, list(types)), reason="config")
        check_names(config, list(types))
        self._clock, self._budget_s = clock or SystemClock(), config.evaluators.step_budget
        self.evaluators = [
            self._guarded(cls, settings) if rule in foreign else cls(settings, self.tools)
            for rule, cls in types.items()
            if (settings := _settings(cls, config.rules.get(rule, {}))).enabled
        ]
        self._scopes: dict[Scope, ScopeRules] = {
            scope: ScopeRules(scope, [e for e in self.evaluators if scope in e.scopes]) for scope in _SCOPES
        }

    def _guarded(self, cls: EvaluatorType, settings: RuleSettings) -> Guarded:
        try:
            return Guarded(cls(settings, self.tools), self._clock, self._budget_s)
        except Exception as error:
            raise Invalid(
                f"rule {cls.rule}: cannot be made: {type(error).__name__}: {error}", reason="config"
            ) from error

    def of(self, scope: Scope) -> ScopeRules:
        return self._scopes[scope]

    @property
    def follows_agents(self) -> bool:
        """Whether a rule tells calls apart by the name of their agent, which may become known after the call."""
        return self.tools.contracts.by_agent

    def looks_back_ns(self, scope: Scope) -> int:
        """How far back the rules of a scope need its steps."""
        return max((e.looks_back_ns(scope) for e in self.of(scope).evaluators), default=0)

    def judges(self, scope: Scope) -> bool:
        """Whether any rule speaks about this scope."""
        return bool(self._scopes[scope].evaluators)

    def rule_failed(self, rule: str, scope: Scope, scope_id: str) -> None:
        """Count and log, from inside the handler of its exception, that a rule was switched off for a scope."""
        error = sys.exception()
        reason = "time" if isinstance(error, TooSlow) else "malformed" if isinstance(error, Malformed) else "error"
        if self._metrics is not None:
            self._metrics.inc("trailhound_rule_errors_total", rule=rule, reason=reason)
        log.exception("rule %s failed (%s) and is switched off for %s %s", rule, reason, scope, scope_id)


_SCOPES: tuple[Scope, ...] = ("trajectory", "session", "agent", "user", "tenant")


def _settings(cls: EvaluatorType, given: dict[str, Any]) -> RuleSettings:
    settings: RuleSettings = validated(cls.SettingsType, given, f"rules.{cls.rule}")
    return settings


def _unknown(rule: str, known: list[str]) -> str:
    return f"`rules.{rule}` is not a rule; {near(rule, known)}known rules: {', '.join(known)}"
