"""Promotes runs of a daemon: fetches a run with its context and its last good one, and makes the case."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from trailhound.clock import Clock, SystemClock, rfc3339
from trailhound.config import Tool
from trailhound.evaluators.testset.case import Attribution, Case
from trailhound.evaluators.testset.good import last_good
from trailhound.evaluators.testset.promote import build_case
from trailhound.evaluators.testset.redaction import Redactor
from trailhound.evaluators.testset.redaction_key import kept_key, key_path
from trailhound.evaluators.testset.split import Split

EARLIER = 20
"""Runs of the same session that are kept as context at most."""
LOOKED_AT = 500
"""Completed runs of the same agent among which the last good run of the same task is looked for."""


log = logging.getLogger(__name__)


class Runs(Protocol):
    """Where runs are had from: `Client`, or the daemon itself."""

    def review(self, trajectory_id: str) -> dict[str, Any] | None:
        """What people said of the run (`/api/v1/reviews/{id}`); None when nobody has."""
        ...

    def trajectory(self, trajectory_id: str) -> dict[str, Any]: ...

    def items(self, kind: str, limit: int, filters: dict[str, str | None]) -> Iterable[dict[str, Any]]: ...


class Promoter:
    """Makes cases of runs; the tokens of all of them are made with the user's key."""

    def __init__(
        self,
        runs: Runs,
        tools: Sequence[Tool],
        *,
        redact: bool = True,
        clock: Clock | None = None,
        key: Path | None = None,
    ) -> None:
        """`key` is the file of the tokens' key; without it the user's."""
        self._runs = runs
        self._tools = tools
        self._key = _key(key) if redact else None
        self._clock = clock or SystemClock()

    def case(self, trajectory_id: str, *, split: Split = "dev", note: str | None = None, by: str | None = None) -> Case:
        """The case of one run, by trajectory id or trace id. Raises Invalid (`not_found`) for an unknown one."""
        run = self._runs.trajectory(trajectory_id)
        return build_case(
            run,
            earlier=self._earlier(run),
            good=self._good(run),
            tools=self._tools,
            redactor=Redactor(self._key) if self._key is not None else None,
            split=split,
            note=note,
            promoted_by=by,
            promoted_at=rfc3339(self._clock.now_ns()),
            attribution=attribution_of(self._runs.review(run["trajectory_id"])),
        )

    def _earlier(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The runs of the same session that began before this one, oldest first."""
        if not run["session_id"] or not run["started_at"]:
            return []
        asked = {"session_id": run["session_id"], "tenant": run["tenant"], "until": run["started_at"]}
        items = self._runs.items("trajectories", EARLIER, asked)
        return [r for r in items if r["trajectory_id"] != run["trajectory_id"]][::-1]

    def _good(self, run: dict[str, Any]) -> dict[str, Any] | None:
        """The last run of the same task that went well, whole."""
        if run["input"] is None:
            return None
        asked = {"service": run["service"], "agent": run["agent"], "tenant": run["tenant"], "status": "completed"}
        found = last_good(run, self._runs.items("trajectories", LOOKED_AT, asked))
        return None if found is None else self._runs.trajectory(found["trajectory_id"])


def attribution_of(review: dict[str, Any] | None) -> Attribution | None:
    """Who or what people say was at fault; None while nobody has, or where they disagree."""
    if review is None or review.get("cause") is None:
        return None
    said = [j for j in review["judgements"] if j["verdict"] == review["verdict"] and j["cause"] == review["cause"]]
    return Attribution(
        cause=review["cause"], by=", ".join(j["by"] for j in said), reason="; ".join(j["reason"] for j in said)
    )


def _key(path: Path | None) -> bytes:
    """The kept key; where none can be kept (no home, a read-only disk), one that equals nothing but itself."""
    try:
        return kept_key(path or key_path())
    except (OSError, RuntimeError) as error:
        log.warning("equal secrets of other cases will get other tokens, no key can be kept: %s", error)
        return secrets.token_bytes(32)
