"""What tools report of tests and coverage, read into one form; reports are foreign text."""
