"""Which clusters are up on this machine, and how is one stopped? The registry, for the commands.

It imports no other part of the mini cluster, so that `reprieve status` and `reprieve down` answer at once.
"""

from reprieve.cluster.mini.running_clusters import RegistryError, RunningCluster, ask_to_stop, entries

__all__ = ["RegistryError", "RunningCluster", "ask_to_stop", "entries"]
