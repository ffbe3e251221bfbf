"""Interning: pods of one template share one copy of most of their spec, and of their labels.

A cluster has few templates for its many pods.
"""

from typing import Generic, TypeVar

from msgspec.msgpack import Encoder
from msgspec.structs import replace

from reprieve.model.objects import Pod

MOST_REMEMBERED = 4096  # templates; beyond that the cache starts over
MOST_BYTES = 1 << 26  # of encoded templates; one may be as large as an object may be

_encode = Encoder().encode
T = TypeVar("T")


class Templates(Generic[T]):
    """What is known of each template, by its key. It starts over before it outgrows its bounds."""

    def __init__(self) -> None:
        self._known: dict[bytes, T] = {}
        self._bytes = 0

    def get(self, template: bytes) -> T | None:
        return self._known.get(template)

    def put(self, template: bytes, thing: T) -> None:
        if len(self._known) >= MOST_REMEMBERED or self._bytes + len(template) > MOST_BYTES:
            self._known.clear()
            self._bytes = 0
        self._known[template] = thing
        self._bytes += len(template)


_remembered: Templates[Pod] = Templates()


def template_of(pod: Pod) -> bytes:
    """The key of a pod's template: its encoded spec without what differs from pod to pod.

    Volume names are left out: the API server generates one for each pod's service account token.
    """
    meta, spec = pod.metadata, pod.spec
    volumes = tuple([replace(volume, name="") for volume in spec.volumes])
    common = replace(spec, node_name="", volumes=volumes)
    return _encode((meta.namespace, meta.labels, controller_of(pod), common))


def controller_of(pod: Pod) -> str:
    """The UID of the controller that owns the pod, or empty."""
    return next((owner.uid for owner in pod.metadata.owner_references if owner.controller), "")


def sharing(pod: Pod) -> Pod:
    """An equal pod that shares its parts with the first pod of its template."""
    template = template_of(pod)
    first = _remembered.get(template)
    if first is None:
        _remembered.put(template, pod)
        return pod
    meta = replace(pod.metadata, labels=first.metadata.labels)
    spec = replace(first.spec, node_name=pod.spec.node_name, volumes=pod.spec.volumes)
    return replace(pod, metadata=meta, spec=spec)
