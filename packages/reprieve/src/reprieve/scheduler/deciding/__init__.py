"""One decision: a place, a plan that is opened, or the reason to wait."""
