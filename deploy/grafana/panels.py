"""All dashboards, in the order of the documentation."""

from __future__ import annotations

from inner import DAEMON
from judged import COST, RISK
from watched import AGENT, FLEET

BOARDS = (FLEET, AGENT, COST, RISK, DAEMON)
