"""How are objects of the Kubernetes API read and written: kinds, versions, fields, text?

What an API server decides about objects is in ``cluster.admission``, which this package must not know.
"""
