"""How many pods does a controller create or delete in one reconcile?

Any number can be asked for, and each of them takes time and memory. So they come in batches, and in between
the other controllers, the kubelets and the API server get their turn.
"""

from collections.abc import Iterable

from reprieve.cluster.mini.controllers.objects import PodFacts

BURST = 300
# Of one owner, without a node: more would fill the memory, and find no room before these do.
MOST_WAITING = 10_000


def next_batch(missing: int, pods: Iterable[PodFacts]) -> int:
    """How many of the missing pods to create now. ``pods``: those that there are."""
    waiting = sum(not pod.spec.node_name for pod in pods)
    return max(0, min(missing, BURST, MOST_WAITING - waiting))
