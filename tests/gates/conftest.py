"""Lets the folders below import what stands in this one (`gating`)."""
