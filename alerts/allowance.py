"""How many notices a channel takes in an hour; the rest becomes one summary at the hour's end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trailhound.model import Alert

HOUR_NS = 3600 * 10**9
MAX_KINDS = 100
"""Different (rule, severity) in a summary; rules are a closed set, so this is never met."""

Held = dict[str, int]
"""`rule severity` -> notices that were not sent."""


@dataclass(frozen=True, slots=True)
class Window:
    """The hour that began with a channel's first notice."""

    begun_ns: int = 0
    """0: none is running."""
    sent: int = 0
    held: Held = field(default_factory=dict)


def spend(window: Window, alert: Alert, budget: int, now_ns: int) -> tuple[Window, bool]:
    """The window after one more notice, and whether that notice may go out."""
    if not window.begun_ns:
        window = Window(begun_ns=now_ns)
    if window.sent < budget:
        return replace(window, sent=window.sent + 1), True
    kind = f"{alert.rule} {alert.severity}"
    kind = kind if kind in window.held or len(window.held) < MAX_KINDS else "others"
    return replace(window, held=window.held | {kind: window.held.get(kind, 0) + 1}), False


def turn(window: Window, now_ns: int) -> tuple[Window, Held]:
    """The window at `now_ns`, and what its end leaves to be summed up: nothing while the hour runs."""
    if not window.begun_ns or now_ns - window.begun_ns < HOUR_NS:
        return window, {}
    return Window(), window.held
