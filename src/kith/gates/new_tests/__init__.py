"""What is wrong with tests that were written before the code: in their text, and in how they fail."""
