"""Listening addresses: reading `host:port`, telling loopback from the rest, and naming a port that is taken."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from trailhound.errors import Invalid


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. `host` is a name or an IP without brackets; port 0 takes any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse(text: str, setting: str) -> Address:
    """`127.0.0.1:4317`, `localhost:0` or `[::1]:4317`; raises Invalid naming `setting`."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if (
        not colon
        or not host
        or (":" in host) != bracketed
        or not (port.isascii() and port.isdecimal())
        or int(port) > 65535
    ):
        raise Invalid(
            f"`{setting}`: {text!r} is no address; write host:port, for example 127.0.0.1:4317 or [::1]:4317",
            reason="address",
        )
    return Address(host, int(port))


def check_free(address: Address, setting: str) -> None:
    """Raises Invalid when nothing can listen on `address`, in one line that says what to do.

    Only a first look: another process may still be faster. It is made because gRPC does not say why it cannot bind.
    """
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
    except OSError as error:
        raise cannot_listen(address, setting, error) from None


def cannot_listen(address: Address, setting: str, error: OSError) -> Invalid:
    """The one-line reason why nothing can listen on `address`."""
    return Invalid(
        f"cannot listen on {address} ({error.strerror or error}); "
        f"stop what uses it, or set `{setting}` to another address (port 0 takes any free one)",
        reason="address",
    )
