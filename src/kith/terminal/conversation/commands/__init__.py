"""Commands of a conversation: `/command`, some without a slash, and `!command`."""
