"""kith: a local-first coding agent that tries a change on the side, tests it, and asks you once."""

__version__ = "0.1.0"
