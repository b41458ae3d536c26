"""Who may use a data directory: the whole daemon alone, or one receiver and one monitor beside each other."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Self

from trailhound.config import Config
from trailhound.errors import Invalid


class Occupancy:
    """A data directory that is held; `close` or the end of the process lets go of it, also in another container."""

    def __init__(self, config: Config, role: str | None = None) -> None:
        """Make the directory if need be, and hold it for `role` (None: all roles).

        Raises Invalid with one line that helps when it cannot be written or somebody else does the same work there.
        """
        self._files: list[IO[str]] = []
        self._directory = config.data_dir
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._hold("lock", fcntl.LOCK_EX if role is None else fcntl.LOCK_SH)
            if role is not None:
                self._hold(f"lock.{role}", fcntl.LOCK_EX)
        except OSError as error:
            self.close()
            raise Invalid(
                f"data_dir {self._directory}: cannot be written ({error.strerror}); choose another with --data or"
                " data_dir",
                reason="data_dir",
            ) from None

    def _hold(self, name: str, kind: int) -> None:
        path: Path = self._directory / name
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii")  # noqa: SIM115
        self._files.append(file)
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read().strip() or "unknown"
            self.close()
            raise Invalid(
                f"data_dir {self._directory}: a daemon (process {holder}) is using it; stop that one or choose another"
                " directory",
                reason="data_dir",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()

    def close(self) -> None:
        """Let go; safe to call twice."""
        for file in self._files:
            file.close()
        self._files.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
