"""Authentication by bearer tokens, and authorization by roles and their bindings."""
