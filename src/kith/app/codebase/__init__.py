"""A whole codebase looked at: its index, its files surveyed, what is under review."""
