"""Models that confer before anybody writes: proposals, claims that tools check, one revision, a decision."""
