"""How long Reprieve takes, and whether another revision takes longer."""
