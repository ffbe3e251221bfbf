"""How is an object of a known kind decoded from JSON? Nothing here raises, whatever the input.

The fast path decodes strictly. If that fails, the input is parsed into plain values, stripped of nulls and
decoded again; only then is it unreadable. This module must not know which kinds there are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE, DecodeFault, fault_of
from reprieve.cluster.api.groups import Spelling
from reprieve.model.objects import KubernetesObject, Problem, Record, Ref

Raw = bytes | msgspec.Raw
T_co = TypeVar("T_co", bound=KubernetesObject, covariant=True)
W = TypeVar("W", bound=KubernetesObject | Spelling)

_DEFAULT_NAMESPACE = "default"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # a copy of the whole object, as text
UNNAMED = Ref(kind="", namespace="", name="")


class Decoded(Record, Generic[T_co], frozen=True):
    """An object, and the paths of fields that restrict its place but are not served."""

    object: T_co
    unserved: tuple[str, ...] = ()


class Unreadable(Record, frozen=True):
    problem: Problem


class _Meta(Record, frozen=True):
    name: str = ""
    namespace: str = ""


class Header(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    metadata: _Meta = _Meta()


HEADER = msgspec.json.Decoder(Header)


def header_values(raw: Raw) -> object:
    try:
        return msgspec.to_builtins(HEADER.decode(raw))
    except UNDECODABLE:
        return None


@dataclass(frozen=True, slots=True)
class KindReader(Generic[W, T_co]):
    """Decodes one kind in one version of the API. ``finish`` cannot fail."""

    kind: str
    namespaced: bool
    decoder: msgspec.json.Decoder[W]
    finish: Callable[[W], Decoded[T_co]]

    def read(self, raw: Raw) -> Decoded[T_co] | Unreadable:
        try:
            thing = self.decoder.decode(raw)
        except UNDECODABLE as error:
            return self._read_again(raw, error)
        return self.finish(self._kept(thing))

    def read_value(self, value: object) -> Decoded[T_co] | Unreadable:
        """From parsed JSON or YAML."""
        try:
            thing = msgspec.convert(value, self.decoder.type)
        except UNDECODABLE:
            return self._read_without_nulls(value)
        return self.finish(self._kept(thing))

    def _read_again(self, raw: Raw, error: Exception) -> Decoded[T_co] | Unreadable:
        try:
            value = msgspec.json.decode(raw)
        except UNDECODABLE:
            return self._unreadable(header_values(raw), fault_of(error))
        return self._read_without_nulls(value)

    def _read_without_nulls(self, value: object) -> Decoded[T_co] | Unreadable:
        """To Kubernetes, null means absent anywhere, so that records need no null in their types."""
        try:
            value = _without_nulls(value)
            thing = msgspec.convert(value, self.decoder.type)
        except UNDECODABLE as error:
            return self._unreadable(value, fault_of(error, value))
        return self.finish(self._kept(thing))

    def _kept(self, thing: W) -> W:
        """With its namespace, and without last-applied: it is long, unused, and may contain secrets."""
        meta = thing.metadata
        misplaced = bool(meta.namespace) != self.namespaced
        if not misplaced and _LAST_APPLIED not in meta.annotations:
            return thing
        if misplaced:
            meta = msgspec.structs.replace(meta, namespace=_DEFAULT_NAMESPACE if self.namespaced else "")
        notes = {key: value for key, value in meta.annotations.items() if key != _LAST_APPLIED}
        return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(meta, annotations=notes))

    def _unreadable(self, value: object, fault: DecodeFault) -> Unreadable:
        ref = ref_in(value)
        namespace = (ref.namespace or _DEFAULT_NAMESPACE) if self.namespaced else ""
        known = Ref(kind=self.kind, namespace=namespace, name=ref.name)
        return Unreadable(problem=Problem(ref=known, path=fault.path, expected=fault.expected))


def _without_nulls(value: object) -> object:
    match value:
        case dict():
            return {k: _without_nulls(v) for k, v in value.items() if v is not None}
        case list():
            return [_without_nulls(item) for item in value]
    return value


def ref_in(value: object) -> Ref:
    """As much of the reference as can be read."""
    if not isinstance(value, dict):
        return UNNAMED
    meta = value.get("metadata")
    texts = [
        value.get("kind"),
        *(meta.get(n) if isinstance(meta, dict) else "" for n in ("namespace", "name")),
    ]
    kind, namespace, name = (text if isinstance(text, str) else "" for text in texts)
    return Ref(kind=kind, namespace=namespace, name=name)
