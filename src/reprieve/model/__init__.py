"""What the cluster is. Data only: no decisions, no I/O, no clock."""
