"""Who has written which fields of an object, and what follows when somebody else wants to write them.

Everything here works on JSON values and shapes: no requests, no store.
"""
