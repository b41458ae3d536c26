"""Trailhound: watches LLM agents in production and judges each run while it is still running."""

__version__ = "0.1.0"
