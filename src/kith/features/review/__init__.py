"""A review: what is wrong with a change, each finding held against the lines that it speaks of."""
