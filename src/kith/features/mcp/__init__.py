"""The Model Context Protocol, from both sides: others' tools for models, and kith's tools for other agents."""
