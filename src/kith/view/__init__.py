"""What happened as a person reads it, on every surface: events, evidence, questions and figures in words."""
