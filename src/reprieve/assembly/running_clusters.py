"""Which clusters are up on this machine, and how to stop one: the registry, in the words of the commands.

It imports no other part of the mini cluster, so that `reprieve status` and `reprieve down` answer at once.
"""

from reprieve.cluster.mini import registry

Running = registry.Entry
RegistryError = registry.RegistryError
clusters_that_are_up = registry.entries
ask_to_stop = registry.ask_to_stop
