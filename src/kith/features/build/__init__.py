"""A request becomes tested code: roles propose, tests decide, and a table says what comes next."""
