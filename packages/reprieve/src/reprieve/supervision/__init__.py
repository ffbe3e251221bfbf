"""Unexpected exceptions: what is set aside, what goes on, and what is logged."""
