"""Models for other programs: in the dialect of OpenAI, and in the roles of kith."""
