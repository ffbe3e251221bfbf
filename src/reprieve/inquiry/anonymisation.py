"""How are the names of a cluster replaced, so that every decision in it stays the same?

Names, namespaces, labels, owner references, node names, group names and claims are replaced consistently:
equal texts stay equal, different ones stay different, and their order is kept. Numbers and times stay.
"""

from reprieve.inquiry.cluster_objects import ClusterObjects


def anonymised(cluster: ClusterObjects) -> ClusterObjects:
    raise NotImplementedError
