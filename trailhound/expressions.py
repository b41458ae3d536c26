"""How regular expressions are run on what models and senders write: by RE2, in time that grows with the text alone."""

from __future__ import annotations

from typing import Any

import re2  # type: ignore[import-untyped]


def re2_options(max_mem: int, *, case_sensitive: bool = True) -> Any:
    """Options of RE2: it uses at most `max_mem` bytes for a pattern, and writes no errors of its own to the log."""
    options = re2.Options()
    options.max_mem, options.case_sensitive, options.log_errors = max_mem, case_sensitive, False
    return options
