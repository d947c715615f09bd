"""Collect kith's optional features: one folder for each, and each can be deleted."""
