"""What other rules would have said of the same traffic: both sets of rules judge it with the code that judges live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from trailhound.clock import rfc3339
from trailhound.collector.watch import Watch
from trailhound.config import Config, load
from trailhound.errors import Invalid
from trailhound.model import Finding, Record

EXAMPLES = 5
_ORDER = {"critical": 0, "warning": 1, "info": 2}


Piece = tuple[Record, ...]
"""What is judged at once: a stored run with its log records, or one recorded request; nothing when it cannot be read."""


class History(Protocol):
    """Recorded traffic in order of time."""

    def __len__(self) -> int:
        """How many pieces there are."""
        ...

    def pieces(self) -> Iterator[Piece]:
        """Each piece; the `received_ns` of its records is the time that has passed by then."""
        ...


@dataclass(frozen=True)
class Said:
    """A finding that fired at some time, in brief."""

    rule: str
    finding_id: str
    severity: str
    trajectory_id: str | None
    session_id: str | None
    agent: str | None
    summary: str
    first_seen: str


@dataclass
class Judgement:
    """One set of rules at work; remembers in brief what fired."""

    config: Config
    said: dict[str, Said] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._watch = Watch(self.config)

    @property
    def rules(self) -> list[str]:
        return [evaluator.rule for evaluator in self._watch.rules.evaluators]

    def take(self, piece: Piece) -> None:
        """Raises Invalid for a body that is no OTLP."""
        for record in piece:
            self._watch.feed(record)
        self._watch.advance(piece[-1].received_ns)
        self._note(self._watch.changes().findings)

    def finish(self) -> None:
        self._watch.finish()
        self._note(self._watch.changes().findings)

    def _note(self, findings: Sequence[Finding]) -> None:
        for f in findings:
            before = self.said.get(f.finding_id)
            if f.state != "firing" or (before is not None and _ORDER[before.severity] < _ORDER[f.severity]):
                continue
            brief = (f.rule, f.finding_id, f.severity, f.trajectory_id, f.session_id, f.agent, f.summary)
            self.said[f.finding_id] = Said(*brief, rfc3339(f.first_seen_ns))


class Backtest:
    """Judges traffic with the rules of today and with other ones."""

    def __init__(self, today: Config, other: Config) -> None:
        self._today, self._other = Judgement(today), Judgement(other)
        self.pieces = self.unreadable = 0

    def take(self, piece: Piece) -> None:
        self.pieces += 1
        try:
            if not piece:
                raise Invalid("unreadable", reason="decode")
            self._today.take(piece)
            self._other.take(piece)
        except Invalid:
            self.unreadable += 1

    def document(self) -> dict[str, Any]:
        """The JSON object of `trailhound backtest`; ends the judging."""
        self._today.finish()
        self._other.finish()
        rules = sorted({*self._today.rules, *self._other.rules})
        return {
            "judged": self.pieces,
            "unreadable": self.unreadable,
            "rules": [self._of(rule) for rule in rules],
        }

    def _of(self, rule: str) -> dict[str, Any]:
        now = {key: said for key, said in self._today.said.items() if said.rule == rule}
        then = {key: said for key, said in self._other.said.items() if said.rule == rule}
        new = [said for key, said in then.items() if key not in now]
        gone = [said for key, said in now.items() if key not in then]
        changed = sum(now[key].severity != said.severity for key, said in then.items() if key in now)
        runs = sorted({said.trajectory_id for said in then.values() if said.trajectory_id is not None})
        return {
            "rule": rule,
            "fired": len(then),
            "fired_today": len(now),
            "new": len(new),
            "gone": len(gone),
            "same": len(then) - len(new),
            "severity_changed": changed,
            "runs": runs,
            "examples": [_example(said, "new") for said in _first(new)]
            + [_example(said, "same") for said in _first([s for k, s in then.items() if k in now])[: EXAMPLES - len(_first(new))]],
            "gone_examples": [_example(said, "gone") for said in _first(gone)],
        }  # fmt: skip


def _first(said: list[Said]) -> list[Said]:
    """The worst, and among equals the earliest."""
    return sorted(said, key=lambda s: (_ORDER[s.severity], s.first_seen, s.finding_id))[:EXAMPLES]


def _example(said: Said, change: str) -> dict[str, Any]:
    return {
        "finding_id": said.finding_id,
        "change": change,
        "severity": said.severity,
        "trajectory_id": said.trajectory_id,
        "session_id": said.session_id,
        "agent": said.agent,
        "first_seen": said.first_seen,
        "summary": said.summary,
    }


def changed_by(today: Config, rules: Path) -> Config:
    """`today` with the sections that the file `rules` has in place of its own. Raises Invalid for a wrong file."""
    other = load(rules, {})
    return today.model_copy(update={name: getattr(other, name) for name in other.model_fields_set})
