"""Plain calls of what decides who gives way."""
