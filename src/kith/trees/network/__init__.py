"""The network of a confined command: a proxy that leads to the hosts it may reach, and nowhere else."""
