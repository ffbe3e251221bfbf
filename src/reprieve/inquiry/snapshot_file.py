"""How is a cluster written to one file: a header, then one object a line, then its decisions?

Written are only fields that placement, preemption and admission read: no secrets, no environment variables,
no arguments, no managed fields, no last-applied configuration. Reading is for ``object_files``.
"""

from collections.abc import Iterator

from reprieve.inquiry.cluster_objects import ClusterObjects

API_VERSION, KIND = "reprieve.dev/v1alpha1", "ClusterSnapshot"


def snapshot_lines(cluster: ClusterObjects) -> Iterator[bytes]:
    """The lines of the file, each with its line break."""
    raise NotImplementedError
