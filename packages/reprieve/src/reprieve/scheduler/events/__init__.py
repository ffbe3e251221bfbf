"""What follows when objects change or calls are answered: demands, promises, binds."""
