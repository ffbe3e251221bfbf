"""How open plans and begun evictions go on, step by step, until they end."""
