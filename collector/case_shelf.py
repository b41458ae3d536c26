"""The daemon's own folder of cases: promotes runs into `<data_dir>/cases` and shows what lies there, for the UI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from trailhound.clock import Clock, rfc3339_ns
from trailhound.collector.api.query import END_NS, ListQuery, Place
from trailhound.collector.api.view import Document, Page
from trailhound.config import Tool
from trailhound.document import json_safe
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case, read_case
from trailhound.evaluators.testset.folder import CaseFolder
from trailhound.evaluators.testset.promote import Promoted, put_case
from trailhound.evaluators.testset.promoter import Promoter
from trailhound.evaluators.testset.split import Split
from trailhound.section import Section

_ID = re.compile(r"[0-9a-f]{32}-[a-z0-9-]{1,64}")
PAGE = 1000


class Wanted(Section):
    """Which run becomes a case, and how."""

    trajectory_id: str = Field(min_length=1, max_length=200)
    split: Split = "dev"
    note: str | None = Field(None, max_length=4000)
    anyway: bool = False
    by: str | None = Field(None, max_length=100)


class HeldRuns:
    """The runs of this daemon, as the Promoter asks for them."""

    def __init__(
        self,
        trajectory: Callable[[str], Document | None],
        trajectories: Callable[[ListQuery], Page],
        review: Callable[[str], Document | None],
    ) -> None:
        self._trajectory, self._trajectories, self.review = trajectory, trajectories, review

    def trajectory(self, trajectory_id: str) -> Document:
        found = self._trajectory(trajectory_id)
        if found is None:
            raise Invalid("no trajectory or trace has this id", reason="not_found")
        return found

    def items(self, kind: str, limit: int, filters: dict[str, str | None]) -> Iterator[Document]:
        """Up to `limit` runs, newest first; `kind` is `trajectories`."""
        asked = {name: value for name, value in filters.items() if value is not None}
        until = rfc3339_ns(asked.pop("until")) if "until" in asked else END_NS
        after: Place | None = None
        while limit > 0:
            page = self._trajectories(ListQuery(min(limit, PAGE), after, 0, until, asked))
            yield from page.items[:limit]
            limit, after = limit - len(page.items), page.next
            if after is None:
                return


class CaseShelf:
    """One folder. Raises Retryable while runs cannot be read, Invalid for what cannot be meant."""

    def __init__(self, folder: Path, key: Path, runs: HeldRuns, tools: list[Tool], clock: Clock) -> None:
        """`key` is the file of the key that redaction's tokens are made with; it lies in no folder of cases."""
        self._folder, self._key, self._runs, self._tools, self._clock = folder, key, runs, tools, clock

    def promote(self, told: Mapping[str, Any]) -> tuple[Document, bool] | None:
        """The case of a run, and whether it was written now; None for an unknown run. Never overwrites."""
        try:
            wanted = Wanted.model_validate(told)
        except ValidationError as error:
            first = error.errors()[0]
            raise Invalid(f"`{'.'.join(map(str, first['loc']))}`: {first['msg']}", reason="case") from None
        promoter = Promoter(self._runs, self._tools, clock=self._clock, key=self._key)
        try:
            case = promoter.case(wanted.trajectory_id, split=wanted.split, note=wanted.note, by=wanted.by)
        except Invalid as error:
            if error.reason == "not_found":
                return None
            raise
        with CaseFolder(self._folder) as folder:
            promoted = put_case(folder, case, anyway=wanted.anyway)
        return self._told(promoted), promoted.written

    def _told(self, promoted: Promoted) -> Document:
        path = self._folder / promoted.name
        return {
            "case_id": promoted.name.removesuffix(".yaml"),
            "path": str(path),
            "written": promoted.written,
            "matches": promoted.matches,
            "proof": promoted.case.proof.model_dump(mode="json") if promoted.case.proof is not None else None,
            "redacted": promoted.case.redacted,
            "unknowns": promoted.case.unknowns,
            "yaml": path.read_text(encoding="utf-8"),
        }

    def page(self, query: ListQuery) -> Page:
        """Cases, those that were written last first; files that are none are told of in `partial`."""
        items: list[Document] = []
        broken, last = 0, None
        for place in self._places(query):
            if len(items) >= query.limit:
                return Page(items, last, _partial(broken))
            last = place
            try:
                item = _header(place.id, read_case(self._path(place.id)))
            except Invalid:
                broken += 1
                continue
            if all(item[name] == value for name, value in query.filters.items()):
                items.append(item)
        return Page(items, None, _partial(broken))

    def _places(self, query: ListQuery) -> list[Place]:
        found = [Place(path.stat().st_mtime_ns, path.stem) for path in self._folder.glob("*.yaml") if path.is_file()]
        after = (query.after.time_ns, query.after.id) if query.after is not None else None
        kept = [
            p
            for p in found
            if _ID.fullmatch(p.id)
            and query.since_ns <= p.time_ns < query.until_ns
            and (after is None or (p.time_ns, p.id) < after)
        ]
        return sorted(kept, key=lambda p: (p.time_ns, p.id), reverse=True)

    def one(self, case_id: str) -> Document | None:
        """A whole case, as data and as the text of its file; None for an unknown id."""
        path = self._path(case_id)
        if not _ID.fullmatch(case_id) or not path.is_file():
            return None
        case = read_case(path)
        return {
            "case_id": case_id,
            "path": str(path),
            "case": json_safe(case.model_dump(mode="json"), 64),
            "yaml": path.read_text(encoding="utf-8"),
        }

    def _path(self, case_id: str) -> Path:
        return self._folder / f"{case_id}.yaml"


def _header(case_id: str, case: Case) -> Document:
    return {
        "case_id": case_id,
        "title": case.title,
        "family": case.family,
        "signature": case.signature,
        "split": case.split,
        "core": case.core,
        "trajectory_id": case.source.trajectory_id,
        "tenant": case.source.tenant,
        "service": case.source.service,
        "agent": case.source.agent,
        "promoted_at": case.source.promoted_at,
        "promoted_by": case.source.promoted_by,
        "fails_on_its_own_trajectory": case.proof is not None and case.proof.fails,
        "unknowns": len(case.unknowns),
    }


def _partial(broken: int) -> str | None:
    return f"{broken} files are no cases: `trailhound testset lint` names them" if broken else None
