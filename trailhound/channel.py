"""The line between the supervisor and a child: JSON lines over a socket pair, whose end tells that the other is gone."""

from __future__ import annotations

import os
import socket
from typing import Any

import orjson


class Channel:
    """One end of a socket pair. `receive` returns None when the other end has gone: then there is nobody to work for."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = b""

    @classmethod
    def of_stdin(cls) -> Channel:
        """The child's end, which the supervisor put in place of standard input."""
        sock = socket.socket(fileno=os.dup(0))
        sock.setblocking(True)
        return cls(sock)

    def send(self, message: dict[str, Any]) -> None:
        """Raises OSError when the other end has gone."""
        self._socket.sendall(orjson.dumps(message) + b"\n")

    def receive(self, timeout_s: float | None = None) -> dict[str, Any] | None:
        """The next message, None when the other end has gone; raises TimeoutError."""
        self._socket.settimeout(timeout_s)
        while b"\n" not in self._buffer:
            try:
                data = self._socket.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = orjson.loads(line)
        return message

    def close(self) -> None:
        self._socket.close()
