"""Plain calls of one module at a time; the files mirror src/reprieve."""
