"""Render what a terminal shows as lines of words with roles: pure, the same wherever it is drawn."""
