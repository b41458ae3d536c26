"""The folder that cases lie in: safe names, whole files, nothing overwritten, nothing outside."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from trailhound.canonical import stable_id
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case, parse_case
from trailhound.evaluators.testset.notation import MAX_SIZE

SLUG = 48
"""Characters of the readable part of a name (RELIABILITY 2.6)."""
_TRACE = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"[0-9a-f]{32}-[a-z0-9-]{1,64}\.yaml")


def trace_part(trace_id: str) -> str:
    """The trace id when it is one, else a hash of it: nothing but hex digits reaches a file name."""
    return trace_id if _TRACE.fullmatch(trace_id) else stable_id("trace", trace_id)


def slug(words: str) -> str:
    """`loop-lookup-order`: lower-case letters, digits and single hyphens, 1 to 48 of them."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:SLUG].rstrip("-") or "run"


def file_name(case_id: str) -> str:
    """The file of a case with any id: the id itself where it is safe, else a hash of it and what can be read of it."""
    name = f"{case_id}.yaml"
    return name if _NAME.fullmatch(name) else f"{stable_id('case', case_id)}-{slug(case_id)}.yaml"


class CaseFolder:
    """One folder, held open: files are reached from its descriptor, so no name and no link can lead elsewhere.

    Raises Invalid when it cannot be made, read or written. Use as a context manager.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise self._unusable(error) from None

    def find(self, trajectory_id: str, trace_ids: list[str]) -> str | None:
        """Name of the file that holds the case of this run, if there is one."""
        starts = tuple(f"{trace_part(trace_id)}-" for trace_id in trace_ids)
        names = sorted(name for name in os.listdir(self._fd) if name.startswith(starts) and _NAME.fullmatch(name))
        return next((name for name, case in self._cases(names) if case.source.trajectory_id == trajectory_id), None)

    def find_like(self, family: str, signature: str | None) -> str | None:
        """Name of the file of another run that failed in the same way at the same task, if there is one."""
        names = sorted(name for name in os.listdir(self._fd) if _NAME.fullmatch(name))
        alike = (n for n, c in self._cases(names) if c.family == family and c.signature == signature is not None)
        return next(alike, None)

    def _cases(self, names: list[str]) -> Iterator[tuple[str, Case]]:
        for name in names:
            try:
                yield name, parse_case(self._read(name), name)
            except (OSError, Invalid):
                continue  # a file that is no case (any more) cannot be this run's case; its name stays taken

    def _read(self, name: str) -> bytes:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd)
        with open(fd, "rb") as file:
            return file.read(MAX_SIZE + 1)

    def write(self, name: str, text: str) -> bool:
        """Write a new file; False when the name is taken. The file is whole and on disk, or not there at all."""
        if not _NAME.fullmatch(name):
            raise Invalid("a case file is named <trace id>-<words>.yaml", reason="case")
        temporary = f".{name}.{secrets.token_hex(8)}"
        try:
            self._write_durably(temporary, text.encode())
            # a link, not a rename: it fails when the name is taken, be it by a file or a symbolic link
            os.link(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
            os.fsync(self._fd)
        except FileExistsError:
            return False
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            self._remove(temporary)
        return True

    def _write_durably(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(name, flags, 0o644, dir_fd=self._fd), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            return

    def full(self, base: str) -> Invalid:
        """The error for too many cases of one trace."""
        return Invalid(f"{self.path}: all names {base}-N.yaml are taken; choose another folder", reason="case_folder")

    def _unusable(self, error: Exception) -> Invalid:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Invalid(
            f"{self.path}: cannot hold cases ({why}); choose another folder with --into", reason="case_folder"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
