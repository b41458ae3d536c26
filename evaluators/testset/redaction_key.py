"""The key of the redaction's tokens: kept for the user, beside no case, because whoever has it can test guesses."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

BYTES = 32


def key_path() -> Path:
    """`$XDG_CONFIG_HOME/trailhound/redaction.key` (XDG Base Directory Specification), else below ~/.config."""
    configured = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".config"
    return base / "trailhound" / "redaction.key"


def kept_key(path: Path) -> bytes:
    """The key in a file that only its user can read, made on first use. Raises OSError where none can be kept."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(secrets.token_hex(BYTES).encode())
    except FileExistsError:
        pass  # made before
    key = path.read_bytes()
    if len(key) < 2 * BYTES:
        raise OSError(f"{path} is too short to be a key")
    return key
