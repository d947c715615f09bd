"""How a session asks models: on which terms, who plays which role, and which model a task goes to."""
