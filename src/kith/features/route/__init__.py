"""Decisions from measurements: which model to ask, how to ask it, how long it takes, when to ask several."""
