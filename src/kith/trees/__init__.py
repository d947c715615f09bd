"""Trees: the only place in kith that opens the user's files or starts processes."""
