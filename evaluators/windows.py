"""Windows of time that budgets are counted in: fixed lengths and calendar units in UTC, and rolling ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from trailhound.model import Step
from trailhound.notation import Duration, parse_duration

Calendar = Literal["hour", "day", "week", "month"]
_FIXED: dict[str, int] = {"hour": 3600, "day": 86400, "week": 604800}
_MONDAY = 3 * 86400
"""1970-01-01 was a Thursday: weeks begin so many seconds before each multiple of 7 days."""
SECOND = 1_000_000_000
PARTS = 24
"""Steps in which a rolling window moves on."""


def _window(value: Any) -> Any:
    return value if value in (*_FIXED, "month") else parse_duration(value)


WindowLength = Annotated[Annotated[Duration, Field(gt=0)] | Calendar, BeforeValidator(_window)]
"""A length (`24h`; windows begin at multiples of it in UTC) or a calendar unit in UTC."""


@dataclass
class Windows:
    """Says which window a moment belongs to; a pure function of the moment."""

    length: float | str
    rolling: bool = False

    def __post_init__(self) -> None:
        length = self.length
        self.calendar = length == "month"
        seconds = 30 * 86400 if length == "month" else _FIXED.get(str(length), length)
        self.length_ns = int(float(seconds) * SECOND)
        """Of a month, about."""
        self._shift = _MONDAY * SECOND if length == "week" else 0
        self.part_ns = max(1, self.length_ns // PARTS)

    def of(self, at_ns: int) -> tuple[int, int]:
        """(begin, end) of the fixed window that holds `at_ns`, in Unix nanoseconds; of a rolling one, of its last part."""
        if self.rolling:
            begin = at_ns // self.part_ns * self.part_ns
            return begin, begin + self.part_ns
        if self.calendar:
            return _month(at_ns)
        begin = (at_ns + self._shift) // self.length_ns * self.length_ns - self._shift
        return begin, begin + self.length_ns


def told_at(step: Step, window_ns: int) -> int:
    """When a step began; when it ended where its sender did not tell (writes 0), else in the window that it came in."""
    return step.start_ns or step.end_ns or window_ns


def _month(at_ns: int) -> tuple[int, int]:
    moment = datetime.fromtimestamp(at_ns // SECOND, UTC)
    begin = datetime(moment.year, moment.month, 1, tzinfo=UTC)
    end = datetime(moment.year + moment.month // 12, moment.month % 12 + 1, 1, tzinfo=UTC)
    return int(begin.timestamp()) * SECOND, int(end.timestamp()) * SECOND
