"""The heart of kith: the nouns, the event log's vocabulary and the one loop. Read it first."""
