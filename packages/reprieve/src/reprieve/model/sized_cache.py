"""Caches whose keys are texts of users: bounded in entries, and in the size of all keys together.

A text may be as large as an object may be: a bound on their number alone would be one of gigabytes. A cache
that is full starts over: what is in use is computed once more. The largest cache is that of pod templates: a
cluster has few for its many pods, and pods of one share one copy of most of their spec, and of their labels.
"""

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

from msgspec.msgpack import Encoder
from msgspec.structs import replace

from reprieve.model.objects import Pod

MOST_ENTRIES = 4096
MOST_SIZE = 1 << 26  # bytes or characters

K = TypeVar("K", str, bytes)
T = TypeVar("T")


class SizedCache(Generic[K, T]):
    def __init__(self, entries: int = MOST_ENTRIES, size: int = MOST_SIZE) -> None:
        self._most_entries = entries
        self._most_size = size
        self._known: dict[K, T] = {}
        self._size = 0

    def get(self, key: K) -> T | None:
        return self._known.get(key)

    def __contains__(self, key: K) -> bool:
        return key in self._known

    def __getitem__(self, key: K) -> T:
        return self._known[key]

    def put(self, key: K, thing: T) -> None:
        if len(self._known) >= self._most_entries or self._size + len(key) > self._most_size:
            self._known.clear()
            self._size = 0
        self._known[key] = thing
        self._size += len(key)


def cached_by_text(entries: int, size: int) -> Callable[[Callable[[K], T]], Callable[[K], T]]:
    """For a pure function of one text."""

    def decorate(function: Callable[[K], T]) -> Callable[[K], T]:
        cache: SizedCache[K, T] = SizedCache(entries, size)

        @wraps(function)
        def call(text: K) -> T:
            try:
                return cache[text]  # one look-up: another thread may empty the cache between two
            except KeyError:
                found = function(text)
            cache.put(text, found)
            return found

        return call

    return decorate


_encode = Encoder().encode


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
