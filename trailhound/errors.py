"""The only two kinds of error that cross a station: try again later, or never.

```
Exception
├── Retryable   a passing fault: nothing is wrong with the input, the same call may succeed later
└── Invalid     the input or configuration is wrong: the same call can never succeed
```
"""

from __future__ import annotations


class Retryable(Exception):
    """A passing fault (full disk, store away, overload).

    `retry_after_s` is what a client is told to wait, in seconds. 2 s by default: the OpenTelemetry Python SDK
    gives up after 10 s in all, and five waits of about 2 s use those 10 s best (RetryInfo is sent as 1.9 s).
    """

    def __init__(self, message: str, *, retry_after_s: float = 2.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Invalid(Exception):
    """Wrong input or configuration; the message says what is wrong and what to do.

    `reason` is a short, closed word for metrics (`too_large`, `bad_protobuf`, ...), never text from the input.
    """

    def __init__(self, message: str, *, reason: str = "invalid") -> None:
        super().__init__(message)
        self.reason = reason
