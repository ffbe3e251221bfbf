"""Commands, as far as they can be tried in this process."""
