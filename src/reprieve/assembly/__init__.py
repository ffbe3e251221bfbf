"""How configuration becomes the parts that work by it, a module for each thing that is assembled.

Only modules of this package read feature gates and import a side of the cluster. This file imports nothing:
a command loads the parts it runs, and no others.
"""
