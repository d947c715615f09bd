"""An engine of kith's own: one llama.cpp server for each model file, shared, and never left behind."""
