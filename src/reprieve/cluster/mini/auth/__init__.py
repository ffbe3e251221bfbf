"""Who somebody is, and what they may do: tokens, roles and their bindings."""
