"""Sessions as HTML: the same renderer for the live page and for the file that is exported."""
