"""Refactoring: what could be better, by numbers, and doing it with the project's checks as the judge."""
