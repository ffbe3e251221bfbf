"""How does a configuration become the parts of a running program? One module for each thing assembled.

Only modules of this package read feature gates and import a side of the cluster. This file imports nothing:
a command loads the parts it runs, and no others.
"""
