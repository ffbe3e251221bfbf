"""Unexpected exceptions: what is set aside, what goes on, and who is told. Knows nothing of clusters."""
