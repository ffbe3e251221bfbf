"""How components of the cluster run beside each other: in steps, with queues, one object at a time."""
