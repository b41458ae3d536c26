"""Named places where a test makes the process die, fail or wait: `TRAILHOUND_FAILPOINT=name:action[:nth][@path][,...]`.

`action` is `kill` (SIGKILL to this process), `raise` (a FailpointError, which is an OSError with EIO) or `sleep`
(`sleep=2.5` gives the seconds). With `nth` only the nth pass acts, without it every pass does.
`@PATH` at the end makes it act once in the life of the file PATH, which it leaves behind: also over restarts.
"""

from __future__ import annotations

import errno
import os
import signal
import time

from trailhound.errors import Invalid

NAMES = (
    "journal.before_write",
    "journal.after_write",
    "journal.before_sync",
    "journal.after_sync",
    "journal.before_remove",
    "journal.after_remove",
    "cursor.before_save",
    "cursor.after_save",
    "receive.before_append",
    "receive.before_ack",
    "monitor.before_feed",
    "monitor.after_feed",
    "store.before_insert",
    "store.after_insert",
    "alerts.before_notify",
    "alerts.after_notify",
)
VARIABLE = "TRAILHOUND_FAILPOINT"
_SLEEP_S = 1.0


class FailpointError(OSError):
    """What the action `raise` raises: it looks like a failing disk, so it takes the same way as a real fault."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.EIO, f"failpoint {name}")


class _Armed:
    """One armed place: what to do, and on which pass."""

    def __init__(self, name: str, action: str, nth: int, once: str) -> None:
        self.name = name
        self.once = once
        self.nth = nth
        self.passes = 0
        self.action, _, seconds = action.partition("=")
        self.seconds = float(seconds or _SLEEP_S)
        if self.action not in ("kill", "raise", "sleep"):
            raise ValueError(action)

    def act(self) -> None:
        self.passes += 1
        if self.nth and self.passes != self.nth:
            return
        if self.once and not _first(self.once):
            return
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.action == "raise":
            raise FailpointError(self.name)
        else:
            time.sleep(self.seconds)


def _first(path: str) -> bool:
    """True for whoever makes the file."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


_armed: dict[str, _Armed] = {}


def hit(name: str) -> None:
    """Pass the place `name`: does nothing unless it is armed. Raises FailpointError when armed with `raise`."""
    armed = _armed.get(name)
    if armed is not None:
        armed.act()


def arm(text: str) -> None:
    """Arm the places listed in `text` and disarm all others. Raises Invalid for an unknown name or action."""
    armed = {}
    for item in filter(None, text.split(",")):
        place, _, once = item.partition("@")
        name, _, rest = place.partition(":")
        action, _, nth = rest.partition(":")
        if name not in NAMES:
            raise Invalid(f"{VARIABLE}: `{name}` is no failpoint; known: {', '.join(NAMES)}", reason="config")
        try:
            armed[name] = _Armed(name, action, int(nth or 0), once)
        except ValueError:
            raise Invalid(f"{VARIABLE}: `{item}`: write name:kill|raise|sleep[:nth][@path]", reason="config") from None
    _armed.clear()
    _armed.update(armed)


arm(os.environ.get(VARIABLE, ""))
