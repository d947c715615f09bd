"""`kith client`: sessions of a server from a command line, here or on another machine."""
