"""The state of the cluster as data: no decisions, no I/O, no clock."""
