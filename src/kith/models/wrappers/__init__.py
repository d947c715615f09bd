"""Models that wrap a model: patience, truth, memory and limits, one thing each."""
