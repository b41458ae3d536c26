"""What every request of the API passes: the Host check, the security headers, errors as problem details."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from trailhound import address
from trailhound.address import Address
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


def listen_address(api: Api) -> Address:
    """Where to listen. Raises Invalid for an address that others can reach: the API has no authentication yet."""
    parsed = address.parse(api.listen, "api.listen")
    if not parsed.is_loopback and not api.allow_remote:
        raise Invalid(
            f"api.listen: {parsed} can be reached from other machines and there is no authentication yet; use 127.0.0.1"
            " with a proxy that authenticates in front, or set api.allow_remote: true",
            reason="address",
        )
    return parsed


def allowed_hosts(api: Api) -> frozenset[str]:
    """Names that a Host header may carry: a foreign name means a page that rebinds DNS onto us (CVE-2025-14279)."""
    host = address.parse(api.listen, "api.listen").host.lower()
    return LOCAL_NAMES | {f"[{host}]" if ":" in host else host} | {name.lower() for name in api.hosts}


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).lower()


def is_number(name: str) -> bool:
    """Whether a host name is an IP address: nobody can rebind one, and Prometheus scrapes containers by theirs."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def guard(hosts: Iterable[str], *, numbers: bool = False) -> Middleware:
    """The middleware around every route, also around those that do not exist; `numbers` lets any IP address pass."""
    allowed = frozenset(hosts)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = host_name(request.headers.get("Host", ""))
        if name not in allowed and not (numbers and is_number(name)):
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
