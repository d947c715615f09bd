"""What a person can tell the conversation itself: `/command`, some plain words of old, and `!command`."""
