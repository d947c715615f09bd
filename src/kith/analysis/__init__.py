"""What source text tells by itself: pure functions, no model, no process."""
