"""Choose the context of a model: words of a task, matching files and symbols, and their tokens."""
