"""`kith runtime`: one model, in kith's roles, for other machines; limits, a queue, and what they came to."""
