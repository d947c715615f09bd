"""`kith mcp`: kith's tools for other agents (Model Context Protocol); a person approves every change."""
