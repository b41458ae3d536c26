"""The review queue: what waits, who reads it, what they said, and the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from trailhound.clock import Clock, rfc3339
from trailhound.collector.api.query import ListQuery, Place
from trailhound.collector.api.view import Document, Page
from trailhound.collector.reviews.book import Book, Deed
from trailhound.collector.reviews.sampling import ONE, RunKey, Sampled, chosen, place_of, sampled
from trailhound.collector.reviews.verdict import Judged, Standing, Taken, numbers, standing
from trailhound.document import text
from trailhound.errors import Invalid
from trailhound.review_settings import Review
from trailhound.section import Section
from trailhound.undocument import trajectory_from

T = TypeVar("T", bound=Section)


class ReviewQueue:
    """Answers the API. Raises Retryable when the file cannot be used, Invalid for what cannot be meant."""

    def __init__(
        self, settings: Review, book: Book, trajectory: Callable[[str], Document | None], clock: Clock
    ) -> None:
        """`trajectory` gives the document of a run by its id."""
        self._settings, self._book, self._trajectory, self._clock = settings, book, trajectory, clock

    def page(self, query: ListQuery) -> Page:
        """Sampled and reviewed runs, newest first."""
        found = [one for one in self._all() if _matches(one, query)]
        found.sort(key=lambda one: (one["_ns"], one["trajectory_id"]), reverse=True)
        if query.after is not None:
            after = (query.after.time_ns, query.after.id)
            found = [one for one in found if (one["_ns"], one["trajectory_id"]) < after]
        items = found[: query.limit]
        place = Place(items[-1]["_ns"], items[-1]["trajectory_id"]) if len(found) > query.limit else None
        return Page([_shown(one) for one in items], place)

    def one(self, trajectory_id: str) -> Document | None:
        """A sampled or reviewed run with all that was done about it; None for any other."""
        deeds = list(self._book.deeds(trajectory_id))
        about = deeds[-1].about if deeds else self._book.candidate(trajectory_id)
        if about is None:
            return None
        document = self._document(about, deeds, chosen(self._book.candidates(), self._settings).get(about.key))
        trail = [
            {"at": rfc3339(d.at_ns), "by": d.reader, "what": d.what, **({"said": dict(d.said)} if d.said else {})}
            for d in deeds
        ]
        return _shown(document) | {"trail": trail}

    def take(self, trajectory_id: str, told: Mapping[str, Any]) -> Document | None:
        """Read it now; None for an unknown run. Raises Invalid while another reader has it."""
        reader = _read(Taken, told).by
        about = self._about(trajectory_id)
        if about is None:
            return None
        holder = self._standing(list(self._book.deeds(trajectory_id)), about).taken_by
        if holder not in (None, reader):
            raise Invalid(f"{holder} has taken this run; take another, or wait until it is given back", reason="taken")
        self._book.add(Deed(about, self._clock.now_ns(), reader, "took", {}))
        return self.one(trajectory_id)

    def judge(self, trajectory_id: str, told: Mapping[str, Any]) -> Document | None:
        """Put one reader's verdict on record; None for an unknown run. An earlier one of the same reader stays there."""
        judged = _read(Judged, told)
        about = self._about(trajectory_id)
        if about is None:
            return None
        self._book.add(Deed(about, self._clock.now_ns(), judged.by, "judged", judged.model_dump(mode="json")))
        return self.one(trajectory_id)

    def stats(self) -> Document:
        """Weighted completion and what it is made of, the agreement of readers, and how much waits."""
        by_run: dict[RunKey, list[Deed]] = {}
        for deed in self._book.deeds():
            by_run.setdefault(deed.about.key, []).append(deed)
        runs = [self._standing(deeds, deeds[-1].about) for deeds in by_run.values()]
        waiting = Counter(f"{one['stratum']}" for one in self._all() if one["state"] in ("waiting", "taken"))
        return numbers(runs) | {"waiting": dict(sorted(waiting.items()))}

    # ------------------------------------------------------------ parts

    def _all(self) -> list[Document]:
        """Everything in the queue, and everything that somebody has looked at."""
        candidates = self._book.candidates()
        queue = chosen(candidates, self._settings)
        known = {candidate.key: candidate for candidate in candidates if candidate.key in queue}
        by_run: dict[RunKey, list[Deed]] = {}
        for deed in self._book.deeds():
            by_run.setdefault(deed.about.key, []).append(deed)
            known[deed.about.key] = deed.about
        return [self._document(about, by_run.get(key, []), queue.get(key)) for key, about in known.items()]

    def _about(self, trajectory_id: str) -> Sampled | None:
        """The run as it is now: people may review any run, sampled or not."""
        document = self._trajectory(trajectory_id)
        if document is None:
            return self._book.candidate(trajectory_id)
        if document["trajectory_id"] != trajectory_id:
            raise Invalid(f"reviews go by trajectory id: {document['trajectory_id']}", reason="review")
        run = trajectory_from(document)
        everything = self._settings.model_copy(update={"successes": 1.0})
        return sampled(run.run, run.findings, run.steps, everything)

    def _standing(self, deeds: list[Deed], about: Sampled) -> Standing:
        second = place_of(about.tenant, about.trajectory_id, "second") < self._settings.second * ONE
        return standing(deeds, self._clock.now_ns(), int(self._settings.hold * 1e9), second=second)

    def _document(self, about: Sampled, deeds: list[Deed], stratum: str | None) -> Document:
        found = self._standing(deeds, about)
        return {
            "_ns": about.started_ns,
            "trajectory_id": about.trajectory_id,
            "tenant": text(about.tenant),
            "service": text(about.service),
            "service_version": text(about.version),
            "agent": text(about.agent),
            "intent": text(about.intent),
            "stratum": stratum,
            "outcome": about.outcome,
            "status": about.status,
            "rules": list(about.rules),
            "models": [text(model) for model in about.models],
            "started_at": rfc3339(about.started_ns) if about.started_ns else None,
            "state": found.state,
            "taken_by": found.taken_by,
            "verdict": found.verdict,
            "cause": found.cause,
            "judgements": [dict(deed.said) | {"at": rfc3339(deed.at_ns)} for deed in found.latest],
        }


def _matches(one: Document, query: ListQuery) -> bool:
    return query.since_ns <= one["_ns"] < query.until_ns and all(
        one[name] == value for name, value in query.filters.items()
    )


def _shown(one: Document) -> Document:
    return {name: value for name, value in one.items() if name != "_ns"}


def _read(kind: type[T], told: Mapping[str, Any]) -> T:
    try:
        return kind.model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise Invalid(f"`{where}`: {said}" if where else said, reason="review") from None
