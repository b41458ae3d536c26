"""One HTTP POST to an address that the operator wrote down: only there, within a time, with a small answer, no redirect.

What is refused and why is in RELIABILITY section 2.6 (requests forged through webhooks): the address is resolved once,
checked, and the connection goes to exactly that address, so that a name cannot change its meaning in between.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from trailhound.errors import Invalid, Retryable

MAX_ANSWER = 64 * 1024
AGAIN = frozenset({401, 403, 404, 405, 407, 408, 409, 410, 421, 423, 425, 429})
"""Client errors that say something of the address, the rights or the moment, and nothing of the message: worth another
attempt once someone has repaired that. Every other 4xx refuses this message for good."""


@dataclass(frozen=True)
class Target:
    """Where to post. `allow_private`: a name may resolve to an address of a private network."""

    url: str = field(repr=False)
    """It may hold a token, so it is never printed."""
    allow_private: bool = False

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    def check(self, setting: str) -> None:
        """Raises Invalid naming `setting` for a URL that can never be posted to."""
        try:
            parts, port = self.parts, self.parts.port
        except ValueError:
            raise Invalid(f"{setting}: is no URL", reason="config") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise Invalid(f"{setting}: write http://HOST[:PORT]/PATH or https://...", reason="config")
        if parts.username is not None or parts.password is not None:
            raise Invalid(f"{setting}: a URL must not carry a user name; use a header or a token", reason="config")
        if not self.url.isascii() or not self.url.isprintable() or " " in self.url:
            raise Invalid(f"{setting}: a URL is printable ASCII without spaces; encode the rest", reason="config")


def post(target: Target, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """The first 64 KiB of a 2xx answer. Raises Retryable when another attempt may succeed, Invalid when none can.

    No error message holds the URL or the answer: either may be secret or hostile.
    """
    connection = _connect(target, timeout_s)
    limit = threading.Timer(timeout_s, _cut, args=(connection,))
    limit.daemon = True
    limit.start()
    try:
        path = (target.parts.path or "/") + (f"?{target.parts.query}" if target.parts.query else "")
        connection.request("POST", path, body, {"User-Agent": "trailhound", "Connection": "close", **headers})
        response = connection.getresponse()
        answer = response.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Retryable(f"no answer ({type(error).__name__})") from None
    finally:
        limit.cancel()
        connection.close()
    _judge(response.status)
    return answer


def _judge(status: int) -> None:
    if 200 <= status < 300:
        return
    if 400 <= status < 500 and status not in AGAIN:
        raise Invalid(f"refused with HTTP {status}", reason="rejected")
    raise Retryable(f"answered HTTP {status}")  # redirects too: they are not followed


def _cut(connection: http.client.HTTPConnection) -> None:
    """An answer that drips in byte by byte must not hold a channel for longer than its time."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended by itself
            return


def _connect(target: Target, timeout_s: float) -> http.client.HTTPConnection:
    parts = target.parts
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Retryable(f"its name cannot be resolved ({type(error).__name__})") from None
    place = _checked(host, [str(info[4][0]) for info in found], target.allow_private)
    try:
        sock = socket.create_connection((place, port), timeout_s)
        if parts.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
    except OSError as error:
        raise Retryable(f"cannot be reached ({type(error).__name__})") from None
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    connection.sock = sock
    return connection


def _checked(host: str, places: list[str], allow_private: bool) -> str:
    """The first address, when all are allowed."""
    for text in places:
        place = ipaddress.ip_address(text.partition("%")[0])
        place = getattr(place, "ipv4_mapped", None) or place
        if place.is_link_local or place.is_multicast or place.is_unspecified or str(place) in METADATA:
            raise Retryable("its address is link-local, multicast or a cloud's metadata service, which is never told")
        if not place.is_global and not allow_private and host != "localhost" and not _is_literal(host):
            raise Retryable("its name leads into a private network: set allow_private if that is meant")
    return places[0]


METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"})
"""AWS, Google, Azure and most others; AWS over IPv6; Alibaba; Azure's wire server. From their documentation."""


def _is_literal(host: str) -> bool:
    """A numeric address in the operator's file is what it says; only names can lead elsewhere."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
