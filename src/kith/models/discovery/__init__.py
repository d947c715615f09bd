"""Find models: running servers, files on disk, what fits this machine, downloads."""
