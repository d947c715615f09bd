"""What the model gets to see: the words of a task, the files and symbols that fit them, and their cost."""
