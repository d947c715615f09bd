"""What a terminal shows, as lines of words with roles: pure, so that it looks the same wherever it is drawn."""
