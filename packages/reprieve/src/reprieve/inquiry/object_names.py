"""Which pod or group does a text name? And what is said if there is none of that name?"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from reprieve.model.effects import Target
from reprieve.model.formatting import listed
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup

_COMPARED = 5_000  # names: a comparison takes some microseconds
_KINDS: dict[str, tuple[type[KubernetesObject], ...]] = {
    "Pod": (Pod,),
    "PodGroup": (PodGroup,),
    "CompositePodGroup": (CompositePodGroup,),
    "": (Pod, PodGroup),
}
_SHORT = {"Pod": ("po",), "PodGroup": ("pg",)}


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A pod or a group that exists. ``kind``: Pod, PodGroup or CompositePodGroup; empty: a Pod or a PodGroup,
    whichever of them exists."""

    namespace: str
    name: str
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind or 'Pod or PodGroup'} {self.namespace}/{self.name}"


class ObjectNameError(ValueError):
    """The text names no object: one sentence."""


def object_name(text: str, namespace: str) -> ObjectName:
    """NAME, TYPE/NAME, or TYPE/NAMESPACE/NAME. ``namespace``: of names without one."""
    head, slash, rest = text.partition("/")
    kind = next((kind for kind in _KINDS if kind and head.lower() in _spellings(kind)), "") if slash else ""
    name = rest if kind else text
    inside, slash, bare = name.partition("/")
    if "/" in bare or not name or (slash and not bare):
        raise ObjectNameError(
            f"expected pod/NAME, podgroup/NAME, compositepodgroup/NAME or NAMESPACE/NAME, got {text!r}"
        )
    return ObjectName(inside, bare, kind) if slash else ObjectName(namespace, name, kind)


def is_named(target: Target, text: str) -> bool:
    """Whether a text that a user typed names this object: `pod/web`, `team-a/web`, `web`, or its UID."""
    kind, slash, rest = text.partition("/")
    if slash and kind.lower() in _spellings(target.kind):
        return bool(rest) and is_named(target, rest)
    return text in (target.uid, target.name, f"{target.namespace}/{target.name}") and bool(text)


def _spellings(kind: str) -> tuple[str, ...]:
    lower = kind.lower()
    return lower, f"{lower}s", *_SHORT.get(kind, ())


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
    """Says in which namespace the object may be meant; empty if in none."""
    match sorted(namespaces):
        case []:
            return ""
        case [one]:
            return f"; did you mean -n {one}?"
        case several:
            return f"; did you mean -n with one of {listed(several)}?"
