"""Checks for implementers of the ports; nothing at run time imports them."""
