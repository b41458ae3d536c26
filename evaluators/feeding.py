"""Asks the rules of many scopes in turn, one rule after the other: code that goes on with what it just did is twice as fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trailhound.evaluators.base import ended, ref
from trailhound.evaluators.dealing import Dealing
from trailhound.evaluators.fold import Fold, Off
from trailhound.evaluators.ruleset import Conclusion
from trailhound.model import Run, Step


def advance(folds: Iterable[Fold]) -> None:
    """Let every fold take all steps of its order that it did not take yet."""
    behind = [fold for fold in folds if fold.done < len(fold.order.steps)]
    while behind:
        first = behind[0]
        if len(behind) == 1 and first.done + 1 == len(first.order.steps):
            _feed_one(first, first.order.steps[-1], first.order.runs[-1])
            return
        _feed(first.dealing, [fold for fold in behind if fold.dealing is first.dealing])
        behind = [fold for fold in behind if fold.done < len(fold.order.steps)]


def _feed_one(fold: Fold, step: Step, run_id: str) -> None:
    """Let a fold take its last step, when there is nothing else to take."""
    dealing, states = fold.dealing, fold.states
    for pile in dealing.piles_of(step):
        for rule, take, _ in dealing.hands[pile]:
            try:
                take(states.get(rule) or fold.state(rule), step, run_id)
            except Exception as error:  # noqa: BLE001 - one rule's mistake must not stop the others
                fold.switch_off(rule, error, step.end_ns or step.start_ns, (ref(step),))
    fold.took(1)


def _feed(dealing: Dealing, folds: list[Fold]) -> None:
    """Let folds take their next steps."""
    parts = [fold.stretch() for fold in folds]
    for hands, queue in zip(dealing.hands, dealing.deal(parts), strict=True):
        for rule, _, take in hands:
            for number, pile, run_id in queue:
                fold, left = folds[number], iter(pile)
                try:
                    take(fold.states.get(rule) or fold.state(rule), left, run_id)
                except Exception as error:  # noqa: BLE001 - as above
                    at = pile[len(pile) - len(list(left)) - 1]
                    fold.switch_off(rule, error, at.end_ns or at.start_ns, (ref(at),))
    for fold, (steps, _) in zip(folds, parts, strict=True):
        fold.took(len(steps))


def conclude(asked: Sequence[tuple[Fold, Run]]) -> None:
    """Note with each fold what its rules say of the run as it stands."""
    groups: dict[int, tuple[tuple[Conclusion, ...], list[tuple[Fold, Run]]]] = {}
    for each in asked:
        fold, run = each
        fold.concluded = []
        conclusions = fold.rules.concluding if ended(run) else fold.rules.concluding_early
        if id(conclusions) in groups:
            groups[id(conclusions)][1].append(each)
        else:
            groups[id(conclusions)] = (conclusions, [each])
    for conclusions, some in groups.values():
        for conclusion in conclusions:
            _ask(conclusion, some)
    for _, run in asked:
        run.calls = ()


def _ask(conclusion: Conclusion, asked: Iterable[tuple[Fold, Run]]) -> None:
    rule, concludes, needs = conclusion
    for fold, run in asked:
        state = fold.states.get(rule)
        if state is None:
            if needs != "nothing":
                continue
            state = fold.rules.blanks.get(rule) or fold.state(rule)
        elif type(state) is Off or (needs == "findings" and not state.findings):
            continue
        run.calls = fold.order.steps
        try:
            drafts = concludes(state, run)
            if drafts != ():  # what nearly all rules say of nearly all runs
                fold.concluded += [(rule, draft) for draft in drafts]
        except Exception as error:  # noqa: BLE001 - as above
            fold.switch_off(rule, error, run.ended_ns)
