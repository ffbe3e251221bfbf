"""Who gives way. Functions of one instant."""
