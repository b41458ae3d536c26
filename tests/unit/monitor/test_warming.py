"""What warming loads is what the first spans need."""

from __future__ import annotations

import subprocess
import sys

CHECK = """
import sys
from trailhound.collector.warming import warm
from trailhound.config import Config
assert "trailhound.collector.prices.listed" not in sys.modules
warm(Config())
assert "trailhound.collector.prices.listed" in sys.modules
"""


def test_the_list_of_prices_is_loaded_before_the_first_span() -> None:
    """In a process of its own: here another test has loaded it."""
    subprocess.run([sys.executable, "-c", CHECK], check=True)
