"""What pods of one template have in common, and keep but once: most of a spec, and their labels.

A cluster has few templates for its many pods. What is made of a template is not known here.
"""

from msgspec.msgpack import Encoder
from msgspec.structs import replace

from reprieve.model.objects import Pod

MOST_REMEMBERED = 4096  # templates that take turns; more than that start over

_encode = Encoder().encode
_remembered: dict[bytes, Pod] = {}


def template_of(pod: Pod) -> bytes:
    """All that a pod says of what it wants, as it is written; volumes are named anew for every pod."""
    meta, spec = pod.metadata, pod.spec
    volumes = tuple([replace(volume, name="") for volume in spec.volumes])
    common = replace(spec, node_name="", volumes=volumes)
    return _encode((meta.namespace, meta.labels, controller_of(pod), common))


def controller_of(pod: Pod) -> str:
    """The UID of whoever made the pod, if it has an owner that looks after it."""
    return next((owner.uid for owner in pod.metadata.owner_references if owner.controller), "")


def sharing(pod: Pod) -> Pod:
    """The same pod, with parts of the first of its template instead of equal ones of its own."""
    if len(_remembered) >= MOST_REMEMBERED:
        _remembered.clear()
    twin = _remembered.setdefault(template_of(pod), pod)
    if twin is pod:
        return pod
    meta = replace(pod.metadata, labels=twin.metadata.labels)
    spec = replace(twin.spec, node_name=pod.spec.node_name, volumes=pod.spec.volumes)
    return replace(pod, metadata=meta, spec=spec)
