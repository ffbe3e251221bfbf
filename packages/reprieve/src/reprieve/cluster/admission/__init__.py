"""What an API server decides about an object before it stores it: defaults, admission, validation, quotas.

Pure functions of plain JSON values, for a server in this process and for commands that predict what one would
do. They know neither side of a cluster, and the daemon does not load them: its server has decided already.
"""
