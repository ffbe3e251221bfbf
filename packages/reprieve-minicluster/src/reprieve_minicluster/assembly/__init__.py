"""A scheduler put into an embedded cluster: the only place here where choices become functions."""
