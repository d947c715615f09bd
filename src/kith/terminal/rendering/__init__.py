"""What a terminal shows, as lines of words with roles: pure, and the same wherever it is drawn."""
