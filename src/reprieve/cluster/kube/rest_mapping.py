"""Where objects of a kind are found on an API server, and which kinds there are for us to look for.

What a server really has is not known here.
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
    """A kind, in a version of the API."""

    kind: str
    plural: str
    api_version: str
    namespaced: bool = True

    @property
    def is_custom(self) -> bool:
        """Whether it is made from a definition of ours; a server knows of such kinds less than of its own."""
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
    """The versions in which we can read a kind, the best first; our own is for servers that have none."""
    versions = [version for version, name in READERS if name == kind]
    return tuple(sorted(versions, key=lambda version: version == GroupApi.REPRIEVE))


def _plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _place(kind: str, version: str) -> RestMapping:
    return RestMapping(kind, _plural(kind), version, namespaced=READERS[version, kind].namespaced)


# What the scheduler reads. Groups say themselves what their Workload would say.
CANDIDATES: Mapping[str, tuple[RestMapping, ...]] = {
    kind.__name__: tuple(_place(kind.__name__, version) for version in _spoken(kind.__name__))
    for kind in get_args(KubernetesObject)
    if kind is not Workload
}
EVENT = RestMapping("Event", "events", EVENTS)
