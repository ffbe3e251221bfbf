"""The name of a pod or group that a question is about; and what is said if there is none of that name."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from reprieve.model.formatting import listed
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup

_COMPARED = 5_000  # names: a comparison takes some microseconds
_KINDS: dict[str, tuple[type[KubernetesObject], ...]] = {
    "Pod": (Pod,),
    "PodGroup": (PodGroup,),
    "CompositePodGroup": (CompositePodGroup,),
    "": (Pod, PodGroup),
}


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A pod or a group that exists. ``kind``: Pod, PodGroup or CompositePodGroup; empty: a Pod or a PodGroup,
    whichever of them exists."""

    namespace: str
    name: str
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind or 'Pod or PodGroup'} {self.namespace}/{self.name}"


def absent_text(name: ObjectName, things: Iterable[KubernetesObject]) -> str:
    """A sentence without its full stop. ``things``: the objects that could be read."""
    known = list(things)
    kind = name.kind or "Pod or PodGroup"
    hint = namespace_hint(namespaces_with(name, known)) or nearest_hint(name, known)
    return f"there is no {kind} {name.name} in namespace {name.namespace}{hint}"


def nearest_hint(name: ObjectName, things: Iterable[KubernetesObject]) -> str:
    """The most similar name in the namespace; empty if none is similar."""
    metas = (thing.metadata for thing in things if isinstance(thing, _KINDS[name.kind]))
    return similar_hint(name.name, (meta.name for meta in metas if meta.namespace == name.namespace))


def similar_hint(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, islice(known, _COMPARED), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def namespaces_with(name: ObjectName, things: Iterable[KubernetesObject]) -> set[str]:
    """The namespaces that have an object of this kind and name, whichever was asked about."""
    alike = (thing.metadata for thing in things if isinstance(thing, _KINDS[name.kind]))
    return {meta.namespace for meta in alike if meta.name == name.name}


def namespace_hint(namespaces: Iterable[str]) -> str:
    """In which namespace the object may be meant; empty if in none."""
    match sorted(namespaces):
        case []:
            return ""
        case [one]:
            return f"; did you mean -n {one}?"
        case several:
            return f"; did you mean -n with one of {listed(several)}?"
