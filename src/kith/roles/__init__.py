"""Who plays which part in a build: the words of each role, as data."""
