"""Parse reports of tests and coverage into one form; reports are untrusted text."""
