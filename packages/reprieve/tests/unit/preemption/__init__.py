"""Plain calls of the code that chooses victims."""
