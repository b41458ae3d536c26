"""Errors as RFC 9457 problem details."""

from __future__ import annotations

from http import HTTPStatus

import orjson
from aiohttp import web


class Problem(Exception):
    """An answer that is an error; the message is the `detail`."""

    def __init__(self, status: int, detail: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}

    def response(self) -> web.Response:
        body = {"type": "about:blank", "title": title(self.status), "status": self.status, "detail": str(self)}
        return web.Response(
            status=self.status, body=orjson.dumps(body), content_type="application/problem+json", headers=self.headers
        )


def title(status: int) -> str:
    """RFC 9457: with `about:blank` the title is the HTTP status phrase."""
    return HTTPStatus(status).phrase
