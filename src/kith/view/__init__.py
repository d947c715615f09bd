"""The items that a person sees of a session, and their wording, the same on every surface."""
