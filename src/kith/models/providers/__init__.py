"""The servers that answer: one module for each protocol, and what they share on the wire."""
