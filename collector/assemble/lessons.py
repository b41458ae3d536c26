"""What was learnt from ended runs, as it is kept across restarts: read when first asked for, written as runs end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trailhound.collector.assemble.earlier import AgentKey, Place
from trailhound.collector.assemble.observed import Observation, Pin
from trailhound.evaluators.profile import Profile

Subject = tuple[str, str, str, str]
"""(tenant, service, agent, task): whose baseline it is."""
Calls = dict[str, tuple[Place, frozenset[str]]]
"""By run id: where the run stands, and the tools it called."""

KNOWN = 2**62
"""As the segment of a run that is kept already: the earlier one stands."""


class Lessons(Protocol):
    """Nothing here raises: what cannot be read is unknown, what cannot be written waits.

    `segment` is the first journal segment of the run: what a replay from there on learns again is not kept for it.
    """

    def runs(self, subject: Subject) -> tuple[list[Observation], Pin | None]: ...

    def learn(self, subject: Subject, runs: Iterable[Observation], gone: Iterable[str], segment: int) -> None:
        """Take runs that are new or seen otherwise now, and forget those `gone`."""
        ...

    def calls(self, tenant: str, session_id: str) -> Calls: ...

    def called(self, session: tuple[str, str], run_id: str, at: Place, names: frozenset[str], segment: int) -> None: ...

    def portraits(self, agent: AgentKey) -> list[tuple[Place, Profile]]: ...

    def portray(self, agent: AgentKey, run_id: str, portrait: tuple[Place, Profile] | None, segment: int) -> None:
        """Take what an agent was made of in a run; None: that need not be known any longer."""
        ...


class Forgetful:
    """Keeps nothing: for `check` and tests, and whoever judges without learning."""

    def runs(self, subject: Subject) -> tuple[list[Observation], Pin | None]:
        return [], None

    def learn(self, subject: Subject, runs: Iterable[Observation], gone: Iterable[str], segment: int) -> None:
        return

    def calls(self, tenant: str, session_id: str) -> Calls:
        return {}

    def called(self, session: tuple[str, str], run_id: str, at: Place, names: frozenset[str], segment: int) -> None:
        return

    def portraits(self, agent: AgentKey) -> list[tuple[Place, Profile]]:
        return []

    def portray(self, agent: AgentKey, run_id: str, portrait: tuple[Place, Profile] | None, segment: int) -> None:
        return


class Learnt(Forgetful):
    """Lessons that are read and never added to: for a run that is judged again."""

    def __init__(self, lessons: Lessons) -> None:
        self.runs, self.calls, self.portraits = lessons.runs, lessons.calls, lessons.portraits  # type: ignore[method-assign]
