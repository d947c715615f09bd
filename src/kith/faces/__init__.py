"""Faces read events and answer questions; nothing else."""
