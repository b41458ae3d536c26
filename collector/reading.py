"""Answers the API from memory and the store: what is open in memory wins over what is stored."""

from __future__ import annotations

from trailhound.collector.api.query import ListQuery
from trailhound.collector.api.view import Document, Page


class Reading:
    """The View of a monitor."""

    def not_ready(self) -> list[str]:
        return ["store: opening"]

    def metrics(self) -> bytes:
        return b""

    def stats(self) -> Document:
        return {}

    def trajectories(self, query: ListQuery) -> Page:
        return Page()

    def trajectory(self, key: str) -> Document | None:
        return None

    def findings(self, query: ListQuery) -> Page:
        return Page()

    def finding(self, finding_id: str) -> Document | None:
        return None

    def sessions(self, query: ListQuery) -> Page:
        return Page()
