"""The log of everything that happened, and what is read from it."""
