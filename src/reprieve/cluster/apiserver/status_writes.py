"""What does a write of the status change? The status, and for some kinds the metadata, as in Kubernetes."""

from collections.abc import Mapping

from reprieve.cluster.api.values import part, text_in
from reprieve.model.json import Json

_OWN_WORDS = ("labels", "annotations", "finalizers", "ownerReferences")
# Metadata that such a write leaves unchanged, for kinds that accept only a part of them.
_STAYS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("labels",),
    "Pod": ("ownerReferences",),
    **dict.fromkeys(("PodGroup", "CompositePodGroup"), _OWN_WORDS),
    **dict.fromkeys(("ResourceClaim", "DeviceTaintRule"), _OWN_WORDS),
    "VolumeAttachment": _OWN_WORDS,
}


def with_status_of(kind: str, sent: Json, old: Json) -> Json:
    """The stored object with what a write of its status changes."""
    status = sent.get("status", {})
    quality = text_in(part(old, "status"), "qosClass")
    if kind == "Pod" and quality and isinstance(status, dict):
        status = {"qosClass": quality, **status}
    return {
        **old,
        "metadata": _metadata(kind, part(sent, "metadata"), part(old, "metadata")),
        "status": status,
    }


def _metadata(kind: str, sent: Json, old: Json) -> Json:
    stays = _STAYS.get(kind, ())
    said = {name: sent[name] for name in _OWN_WORDS if name in sent and name not in stays}
    rest = {name: value for name, value in old.items() if name not in _OWN_WORDS or name in stays}
    return {**rest, **said}
