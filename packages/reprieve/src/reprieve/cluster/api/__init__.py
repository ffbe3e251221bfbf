"""How are objects of the Kubernetes API read and written: kinds, versions, fields, text?

What an API server decides about objects is in ``cluster.apiserver``, which this package must not know.
"""
