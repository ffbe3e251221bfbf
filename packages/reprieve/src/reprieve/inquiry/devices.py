"""What does a pod need of dynamic resource allocation, which this scheduler does not decide about?"""

from collections.abc import Iterable, Iterator

from reprieve.cluster.api.codec import unserved_fields
from reprieve.cluster.api.values import name_of, part, text_in
from reprieve.model.json import Json
from reprieve.model.objects import Pod

DEVICE_CLASS = "DeviceClass"
_OF_CLASS = (
    "deviceclass.resource.kubernetes.io/"  # and the name of the class: a resource that every class has
)


def resources_of_devices(classes: Iterable[Json]) -> frozenset[str]:
    """The extended resources that kube-scheduler serves with devices of a class, where nodes have none."""
    return frozenset(_resources(classes))


def _resources(classes: Iterable[Json]) -> Iterator[str]:
    for one in classes:
        yield f"{_OF_CLASS}{name_of(one)}"
        if name := text_in(part(one, "spec"), "extendedResourceName"):
            yield name


def devices_of(pod: Pod, resources: frozenset[str]) -> str:
    """A phrase that names the claims, or a resource that a device class serves; empty: neither."""
    if any(field.lower().endswith("claims") for field in unserved_fields(pod)):
        return f"pod {pod.metadata.name} has ResourceClaims"
    spec = pod.spec
    for container in (*spec.containers, *spec.init_containers):
        needs = {**(container.resources.limits or {}), **(container.resources.requests or {})}
        for name in sorted(resources & needs.keys()):
            return f"pod {pod.metadata.name} needs {name}, which a DeviceClass provides"
    return ""
