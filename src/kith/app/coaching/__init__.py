"""Better ways to ask a local model: recorded tasks done again, experiments, and the ways that won."""
