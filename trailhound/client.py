"""Asks a running daemon over its HTTP API, for the commands that show and promote."""

from __future__ import annotations

import http.client
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from trailhound.errors import Invalid, Retryable

TIMEOUT_S = 30.0
MAX_ANSWER = 256 * 2**20
"""Bytes of one answer that are read at most (own choice: far above the largest run, far below the memory)."""
PAGE = 200
"""Items asked for at once."""


class Client:
    """One daemon. Every call raises Retryable when it cannot be reached, Invalid (`not_found`, ...) when it refuses."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(
                f"--api {url!r} is no URL of a daemon: write for example http://127.0.0.1:4320", reason="usage"
            )
        self.url = url.rstrip("/")
        self._parts = parts
        self.partial: str | None = None
        """What the last list could not take into account, in the daemon's words."""

    def trajectory(self, trajectory_id: str) -> dict[str, Any]:
        """One run with its steps and findings, by trajectory id or trace id."""
        path = f"/api/v1/trajectories/{quote(trajectory_id, safe='')}"
        return self.get(
            path, what=f"trajectory or trace {trajectory_id}", has=("trajectory_id", "steps", "findings", "totals")
        )

    def review(self, trajectory_id: str) -> dict[str, Any] | None:
        """What people said of a run; None when nobody has, or for a daemon that knows of no reviews."""
        path = f"/api/v1/reviews/{quote(trajectory_id, safe='')}"
        try:
            return self.get(path, what="review", has=("trajectory_id", "judgements"))
        except Invalid as error:
            if error.reason != "not_found":
                raise
            return None

    def spans(self, trajectory_id: str) -> bytes:
        """The stored spans of one run as an OTLP traces request."""
        return self._otlp(trajectory_id, "spans")

    def logs(self, trajectory_id: str) -> bytes:
        """The stored log records about one run as an OTLP logs request."""
        return self._otlp(trajectory_id, "logs")

    def _otlp(self, trajectory_id: str, what: str) -> bytes:
        path = f"/api/v1/trajectories/{quote(trajectory_id, safe='')}/{what}"
        return self._good(*self._request("GET", path, None), f"trajectory or trace {trajectory_id}")

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        """By trace id what is stored of it, as an OTLP traces and an OTLP logs request; at most 200 traces at once."""
        asked = {"tenant": tenant, "trace_ids": ",".join(trace_ids)}
        items = self.get("/api/v1/traces", asked, what="list of traces", has=("items",))["items"]
        return {item["trace_id"]: (b64decode(item["spans"]), b64decode(item["logs"])) for item in items}

    def item(self, kind: str, item_id: str) -> dict[str, Any]:
        """One item of `findings`, `sessions` or `alerts`."""
        path, one = f"/api/v1/{kind}/{quote(item_id, safe='')}", kind.removesuffix("s")
        return self.get(path, what=f"{one} {item_id}", has=(f"{one}_id",))

    def items(self, kind: str, limit: int, filters: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
        """Up to `limit` items of a list, newest first, page by page."""
        asked = {name: value for name, value in filters.items() if value is not None}
        cursor: str | None = None
        while limit > 0:
            asking = {**asked, "limit": str(min(limit, PAGE)), **({"cursor": cursor} if cursor else {})}
            page = self.get(f"/api/v1/{kind}", asking, has=("items",))
            self.partial = page.get("partial") or self.partial
            yield from page["items"][:limit]
            limit -= len(page["items"])
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def get(
        self, path: str, query: Mapping[str, str] | None = None, *, what: str = "that", has: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The JSON object at `path`, which must have the keys `has`; `what` names the thing in the error for a 404."""
        target = path + ("?" + urlencode(query) if query else "")
        return self._object(self._good(*self._request("GET", target, None), what), has)

    def send(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None,
        *,
        what: str = "that",
        has: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """The answer to a request that changes something; otherwise as `get`."""
        body = orjson.dumps(content) if content is not None else None
        return self._object(self._good(*self._request(method, path, body), what), has)

    def _good(self, status: int, body: bytes, what: str) -> bytes:
        """The body of a good answer; else the error that it is."""
        if status == 404 and _problem(body) is None:
            raise self._stranger()
        if status == 404:
            raise Invalid(f"no {what} is known to the daemon at {self.url}", reason="not_found")
        if status >= 500:
            raise Retryable(f"the daemon at {self.url} answered {status}: {_said(body)}; try again in a moment")
        if status not in (200, 201):
            raise Invalid(f"the daemon at {self.url} answered {status}: {_said(body)}", reason="refused")
        return body

    def _request(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json, application/x-protobuf"} | (
            {"Content-Type": "application/json"} if content is not None else {}
        )
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=TIMEOUT_S)
        except ValueError:
            raise Invalid(f"--api {self.url!r}: the port is no number up to 65535", reason="usage") from None
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, content, headers)
            response = connection.getresponse()
            return response.status, response.read(MAX_ANSWER)
        except ConnectionRefusedError:
            raise Retryable(
                f"no daemon at {self.url}: start one with `trailhound serve`, or name another with --api"
            ) from None
        except TimeoutError:
            raise Retryable(f"the daemon at {self.url} did not answer within {TIMEOUT_S:.0f} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Retryable(f"the daemon at {self.url} cannot be asked: {error or type(error).__name__}") from None
        finally:
            connection.close()

    def _object(self, body: bytes, has: tuple[str, ...]) -> dict[str, Any]:
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict) or any(key not in answer for key in has):
            raise self._stranger()
        return answer

    def _stranger(self) -> Invalid:
        said = f"{self.url} did not answer like a Trailhound daemon: is --api its API port (4320)?"
        return Invalid(said, reason="refused")


def _problem(body: bytes) -> str | None:
    """The text of RFC 9457 problem details; None for what is none."""
    try:
        problem = orjson.loads(body)
        return str(problem.get("detail") or problem.get("title") or "")
    except (orjson.JSONDecodeError, AttributeError):
        return None


def _said(body: bytes) -> str:
    """The text of problem details, else the start of the body."""
    said = _problem(body)
    return body[:200].decode("utf-8", "replace") if said is None else said
