"""One module for each tool that finds faults without running the code: how to ask it, how to read it."""
