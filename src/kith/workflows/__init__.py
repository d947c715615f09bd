"""Workflows are plain functions: they ask models, try changes on the side, and let gates decide."""
