"""Stations 1 to 5 and 7: receive, journal, decode, read the dialect, assemble, store; and the HTTP API."""
