"""The commands that run an embedded cluster."""
