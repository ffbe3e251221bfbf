"""How fast Reprieve decides."""
