"""A conversation in a terminal: a line that is always free, and what happens above it."""
