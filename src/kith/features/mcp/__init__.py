"""The Model Context Protocol: the tools of other programs for models, and those of kith for other agents."""
