"""What a codebase is, told without a model: from what is in each file to one report."""
