"""A cluster as it was read, from a server or from files: its objects, and what could not be read.

Bodies stay in the API's JSON: most of a large cluster is decoded once, into records of the model, and the few
objects that need more than those (quotas, templates) are parsed where they are needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.api.codec import CLUSTER_SCOPED, READERS
from reprieve.model.json import Json


class ApiObject(msgspec.Struct, frozen=True, gc=False):
    kind: str
    api_version: str
    body: bytes  # JSON; it need not repeat kind and apiVersion, as items of lists do not


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    objects: tuple[ApiObject, ...]
    taken_at: float  # seconds since the epoch
    resource_version: str = ""  # of the lists; empty if they come from files
    configuration: Json | None = None  # the KubeSchedulerConfiguration in force, if it is known
    decisions: tuple[Json, ...] = ()  # recent ones, the oldest first, as report.decisions writes them
    pods_read_in: tuple[str, ...] | None = None  # the namespaces whose pods were read; None: all
    notes: tuple[str, ...] = field(default=())  # what could not be read, a sentence each
    is_dated: bool = True  # otherwise nothing says when it was taken, and taken_at is when it was read


# Kinds that the scheduler does not read.
SUPPORTING_KINDS: Mapping[str, str] = {
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "LimitRange": "v1",
    "ResourceQuota": "v1",
    "Event": "v1",
    "DeviceClass": "resource.k8s.io/v1",
}
# By API version and kind: whether the kind is namespaced.
READABLE: Mapping[tuple[str, str], bool] = {
    **{known: reader.namespaced for known, reader in READERS.items()},
    **{(version, kind): kind not in CLUSTER_SCOPED for kind, version in SUPPORTING_KINDS.items()},
}
