"""What every request of the API passes: the Host check, the security headers, errors as problem details."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from trailhound.collector.api.problems import Problem
from trailhound.config import Api
from trailhound.errors import Invalid, Retryable

log = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`; raises Invalid."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise Invalid(f"api.listen: {address!r} is no host:port", reason="config")
    return host, int(port)


def check_bind(api: Api) -> None:
    """Refuses an address that others can reach, as the API has no authentication; raises Invalid."""
    host, _ = split_address(api.listen)
    if not _loopback(host) and not api.allow_remote:
        raise Invalid(
            f"api.listen: {host} can be reached by others and the API has no authentication yet; "
            "use 127.0.0.1, or set api.allow_remote: true behind a proxy that authenticates",
            reason="config",
        )


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(api: Api) -> frozenset[str]:
    """Names that a Host header may carry: a foreign name means a page that rebinds DNS onto us (CVE-2025-14279)."""
    return LOCAL_NAMES | {split_address(api.listen)[0].lower()} | {name.lower() for name in api.hosts}


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).lower()


def guard(hosts: Iterable[str]) -> Middleware:
    """The middleware around every route, also around those that do not exist."""
    allowed = frozenset(hosts)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if host_name(request.headers.get("Host", "")) not in allowed:
            response: web.StreamResponse = Problem(421, "this host name is not served here; see api.hosts").response()
        else:
            response = await _answered(request, handler)
        response.headers.update(HEADERS)
        return response

    return middleware


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response()
    except Invalid as error:
        return Problem(400, str(error)).response()
    except Retryable as error:
        return Problem(503, str(error), headers={"Retry-After": str(round(error.retry_after_s))}).response()
    except web.HTTPException as error:
        allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
        return Problem(error.status, f"{request.path}: {error.reason}", headers=allow).response()
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return Problem(500, "this is a bug; the daemon's log has its trace").response()
