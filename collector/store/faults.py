"""What an error of the database means: try again (`Retryable`), or the rows themselves are refused (`Invalid`).

Codes from ClickHouse src/Common/ErrorCodes.cpp (26.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clickhouse_connect.driver.exceptions import ClickHouseError, DataError

from trailhound.errors import Invalid, Retryable

TOO_MANY_PARTS = 252
POISON = frozenset(
    {
        6, 26, 27, 32, 33, 34, 38, 41, 72, 117,  # text, quotes, numbers, dates that cannot be read; truncated, incorrect data
        53, 69, 70, 131, 190, 321, 349, 407,  # types that do not fit, bounds, too long strings, sizes, NULL, overflow
        444, 469,  # protobuf that cannot be read, a violated constraint
        TOO_MANY_PARTS,
    }
)  # fmt: skip
"""Errors that the rows are to blame for, so that the same rows fail again.

Every other error is taken for passing (network, timeout 159, 209, 210, memory 241, read-only 242, 319, no space 243,
missing rights or tables): an operator can mend those, and acknowledged spans wait for that rather than being given up.
"""


def classify(error: Exception) -> Retryable | Invalid:
    """The error of this station for one of the driver's."""
    text = " ".join(str(error).split())[:500]
    code = getattr(error, "code", None)
    if code == TOO_MANY_PARTS and "too many partitions" not in text.lower():
        return Retryable(f"the store is overloaded: {text}")
    if code in POISON or (code is None and isinstance(error, DataError)):
        return Invalid(f"the store refuses the rows: {text}", reason="insert")
    return Retryable(f"the store failed: {text}")


@contextmanager
def classified() -> Iterator[None]:
    """Turns the driver's errors, and those of files and sockets, into Retryable and Invalid."""
    try:
        yield
    except (ClickHouseError, OSError) as error:
        raise classify(error) from error
