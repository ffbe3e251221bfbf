"""Reprieve from the outside: the command as its users run it."""
