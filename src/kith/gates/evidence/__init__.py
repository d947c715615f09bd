"""The one judge of changes: the untouched tree against the change alone, test by test."""
