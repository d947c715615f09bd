"""The demo's project and the conversation that was recorded for it."""
