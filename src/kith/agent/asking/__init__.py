"""Ask a session's models: terms, roles, and the model of each task."""
