"""A person decides about a change: all of it, parts of it, in other words, or not at all."""
