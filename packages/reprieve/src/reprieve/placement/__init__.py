"""Where a demand fits. Functions of one instant."""
