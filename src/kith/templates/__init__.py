"""Common tasks with blanks to fill in, as data."""
