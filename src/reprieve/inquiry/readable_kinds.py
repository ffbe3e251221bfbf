"""Which kinds of objects are read of a cluster for questions about it, in which API versions?

Those that the scheduler reads, those that admission of a manifest reads, controllers with their templates,
and events. This module must not know how they are read.
"""

from collections.abc import Mapping

from reprieve.cluster.api.codec import READERS

# Kinds that the scheduler does not read. All of them are namespaced.
SUPPORTING_KINDS: Mapping[str, str] = {
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "LimitRange": "v1",
    "ResourceQuota": "v1",
    "Event": "v1",
}
# By API version and kind: whether the kind is namespaced.
READABLE: Mapping[tuple[str, str], bool] = {
    **{known: reader.namespaced for known, reader in READERS.items()},
    **{(version, kind): True for kind, version in SUPPORTING_KINDS.items()},
}
