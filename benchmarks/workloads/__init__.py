"""What is measured: each module has a function `measure` that does it in the process that calls it."""
