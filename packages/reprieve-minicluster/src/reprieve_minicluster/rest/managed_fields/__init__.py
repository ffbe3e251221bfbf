"""Field ownership, after structured-merge-diff: which manager owns which fields, and conflicts between them.

Everything here works on JSON values and shapes: no requests, no store.
"""
