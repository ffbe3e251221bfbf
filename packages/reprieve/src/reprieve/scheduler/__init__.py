"""What remembers. A state machine: events in, effects out, no I/O, and now is an argument."""
