"""The API paths of the kinds that the scheduler reads, in each version it can decode.

Which of them a server has is for ``discovery`` to find out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from reprieve.cluster.api.codec import READERS, AnyReader
from reprieve.cluster.api.groups import GroupApi
from reprieve.model.objects import KubernetesObject, Workload

OWN_GROUP = GroupApi.REPRIEVE.rpartition("/")[0]
EVENTS = "events.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class RestMapping:
    """A kind in one API version, and its path."""

    kind: str
    plural: str
    api_version: str
    namespaced: bool = True

    @property
    def is_custom(self) -> bool:
        """Whether it is a custom resource of ours: for those a server supports fewer kinds of patches."""
        return self.api_version.rpartition("/")[0] == OWN_GROUP

    @property
    def reader(self) -> AnyReader:
        return READERS[self.api_version, self.kind]

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        steps = [root_of(self.api_version)]
        if namespace and self.namespaced:
            steps += ["namespaces", namespace]
        return "/".join([*steps, self.plural, *filter(None, (name, part))])


def root_of(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _spoken(kind: str) -> tuple[str, ...]:
    """The versions in which a kind can be decoded, preferred first; our CRD is the last resort."""
    versions = [version for version, name in READERS if name == kind]
    return tuple(sorted(versions, key=lambda version: version == GroupApi.REPRIEVE))


def _plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def mapping_of(kind: str, version: str, *, namespaced: bool) -> RestMapping:
    return RestMapping(kind, _plural(kind), version, namespaced)


def mappings_of(kind: str) -> tuple[RestMapping, ...]:
    """Map a kind that can be decoded, the preferred version first."""
    return tuple(
        mapping_of(kind, version, namespaced=READERS[version, kind].namespaced) for version in _spoken(kind)
    )


# The kinds that the scheduler watches. Not Workload: a PodGroup repeats what it needs from its Workload.
CANDIDATES: Mapping[str, tuple[RestMapping, ...]] = {
    kind.__name__: mappings_of(kind.__name__) for kind in get_args(KubernetesObject) if kind is not Workload
}
EVENT = RestMapping("Event", "events", EVENTS)
