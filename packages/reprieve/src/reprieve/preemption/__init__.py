"""Which pods are evicted for a demand. Functions of one instant."""
