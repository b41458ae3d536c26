"""Failures that come back as data: results that say by their form that the call failed."""

from __future__ import annotations

from typing import Any

_ENVELOPE = frozenset(
    "error message msg code status statuscode errorcode detail details type reason ok success iserror requestid traceid "  # noqa: SIM905
    "content hint retryable path title instance timestamp"
    .split()
)  # fmt: skip
"""Fields of an answer that is about a failure. One with other fields beside `error` is data, of which it is a part."""


def says_failed(result: Any) -> bool:
    """Whether a result is a failure by its form: `isError: true` (Model Context Protocol, CallToolResult), or `error`
    with something in it and no data beside it.

    Text is never read: a page about errors is no error. Numbers under `error` are measurements.
    """
    if result.__class__ is not dict:
        return False
    error = result.get("error")
    if not error and "isError" not in result and "is_error" not in result:  # nearly always
        return False
    if result.get("isError") is True or result.get("is_error") is True:
        return True
    if not error or error.__class__ not in (str, dict, bool):
        return False
    return all(key.__class__ is str and key.replace("_", "").lower() in _ENVELOPE for key in result)


_DONE = ("ok", "success", "succeeded", "successful")


def says_undone(result: Any) -> bool:
    """Whether a result says in a field of its own that nothing was done: `{"ok": false}`, `{"success": false, ...}`.

    That is no failed call, a check may answer so; but it did not do what it is called for.
    """
    return result.__class__ is dict and any(result.get(field) is False for field in _DONE)
