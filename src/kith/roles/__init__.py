"""Name the roles of a build; their prompts are data."""
