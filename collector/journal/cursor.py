"""How far the monitor has come, in a small file that is replaced as a whole."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from trailhound import failpoint
from trailhound.collector.journal.reader import BEGIN, Position
from trailhound.collector.journal.system import SYSTEM, System, sync_directory, write_all

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The monitor's marks. Each is moved after its effect is durable, never before."""

    judged: Position = BEGIN
    """Everything before it has been judged."""
    stored: int = 0
    """Every segment up to this one is in the store."""
    low_water: int = 0
    """The oldest segment that an open run still needs: a restart reads again from here."""
    advanced_ns: int = 0
    """Timers up to this time have fired after `judged`; Unix nanoseconds."""
    received_ns: int = 0
    """When the last record before `judged` was received: what is told without a further one is as new as that."""


def load_cursor(path: Path) -> Cursor:
    """The marks in `path`; without the file, or when it is damaged, those of the beginning.

    Starting over is safe: everything behind the journal is idempotent.
    """
    try:
        data = json.loads(path.read_bytes())
        segment, offset = data["judged"]
        stored, low_water, advanced_ns = (int(data[name]) for name in ("stored", "low_water", "advanced_ns"))
        judged = Position(int(segment), int(offset))
        return Cursor(judged, stored, low_water, advanced_ns, int(data.get("received_ns", 0)))
    except FileNotFoundError:
        return Cursor()
    except (ValueError, KeyError, TypeError) as error:
        log.error("%s is damaged, the journal is read from its beginning: %s", path, error)
        return Cursor()


def save_cursor(path: Path, cursor: Cursor, system: System = SYSTEM) -> None:
    """Replace `path`: after a crash it holds the old marks or the new ones. Raises OSError."""
    failpoint.hit("cursor.before_save")
    marks = asdict(cursor) | {"judged": list(cursor.judged)}
    new = path.with_name(path.name + ".new")
    fd = system.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(system, fd, [json.dumps(marks).encode()])
        system.fsync(fd)
    finally:
        system.close(fd)
    os.replace(new, path)
    sync_directory(path.parent, system)
    failpoint.hit("cursor.after_save")
