"""How each model wants to be asked: proposals, trials on recorded tasks, and what comes of them."""
