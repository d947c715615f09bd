"""Check tests that were written before the code: their text, and their failures."""
