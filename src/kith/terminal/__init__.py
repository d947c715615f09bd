"""The terminal: the conversation, `kith run` and the small commands."""
