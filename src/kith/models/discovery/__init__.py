"""What models there are: servers that run, files on the disk, what fits this machine, how to get more."""
