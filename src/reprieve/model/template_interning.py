"""Interning: pods of one template share one copy of most of their spec, and of their labels.

A cluster has few templates for its many pods.
"""

from typing import TypeVar

from msgspec.msgpack import Encoder
from msgspec.structs import replace

from reprieve.model.objects import Pod
from reprieve.model.sized_cache import SizedCache

_encode = Encoder().encode
T = TypeVar("T")


class Templates(SizedCache[bytes, T]):
    """What is known of each template, by its key."""


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
