"""Gates look at a change and say yes, or no and why; nothing else decides."""
