"""`kith serve`: the session, its API and its page over HTTP; a face on the log, without state of its own."""
