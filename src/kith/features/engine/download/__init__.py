"""Downloads that survive a crash: from a hub, or through Ollama."""
