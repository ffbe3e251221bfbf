"""In which form does an API server store the object that a client sends, or why does it reject it?

``admit`` is the entry point for a server, and a pure function of plain JSON values. Call it

- on CREATE with the object as it was sent, and with the UID that it will have; metadata.name may be missing
  if metadata.generateName is given, and metadata.namespace if ``AdmissionRequest.namespace`` is given;
- on UPDATE with the whole object as it will be (the caller applies patches first) and the stored one as
  ``old``;
- with a subresource for ``status``, ``approval`` and ``resize``, all of them updates of the whole
  object; a change of scale is an update of the object itself. Binding and eviction do not pass through
  admission.

``new`` and ``old`` are both in the spelling of ``AdmissionRequest.version``: the caller converts them.
``admit`` changes neither. The answer is the object to be stored (with nulls removed, defaults filled in,
priorities resolved and fields behind missing features dropped), or the field errors for a 422, or a refusal
for a 403 or 404. The metadata that the server itself owns (uid, generation, resourceVersion, times) pass
unchecked.

An update is not rejected for errors that the stored object already had. This module must not know HTTP,
storage, or where the gates come from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from reprieve.cluster.admission import admission_plugins
from reprieve.cluster.admission.admission_plugins import AdmissionRefusal, Lookup, RefusalReason
from reprieve.cluster.admission.defaults import default
from reprieve.cluster.admission.features import (
    ALL_FEATURES,
    DEFAULT_FEATURES,
    Features,
    drop_unserved,
    serves,
)
from reprieve.cluster.admission.field_errors import At, ErrorType, FieldError
from reprieve.cluster.admission.marks import check_marks
from reprieve.cluster.admission.pod_defaults import default_pod_resources, merge_label_keys
from reprieve.cluster.admission.validation import Rules, rules_of
from reprieve.cluster.admission.validation.metadata import (
    check_metadata,
    check_metadata_change,
    check_new_metadata,
)
from reprieve.cluster.admission.validation.pod_changes import check_resize, resized
from reprieve.cluster.admission.validation.resources import quality_class
from reprieve.cluster.api.codec import Unreadable, decode_value
from reprieve.cluster.api.values import TooDeepError, made, name_of, part, text_in, without_nulls
from reprieve.model.json import Json

__all__ = [
    "ALL_FEATURES",
    "DEFAULT_FEATURES",
    "AdmissionAnswer",
    "AdmissionRefusal",
    "AdmissionRequest",
    "ErrorType",
    "Features",
    "FieldError",
    "Lookup",
    "Operation",
    "RefusalReason",
    "admit",
    "complete",
]


class Operation(Enum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """``name`` and ``namespace`` are those of the URL; empty if it has none.

    ``rules``: those of a kind that this package does not know.
    """

    operation: Operation
    group: str
    version: str
    kind: str
    new: Json
    old: Json | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    features: Features = DEFAULT_FEATURES
    rules: Rules | None = None

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def creates(self) -> bool:
        return self.operation is Operation.CREATE


_STATUS = ("status", "approval")
_COMPLETED_LAST = ("Job", "Service")  # a selector and an address are generated after mutation
AdmissionAnswer = Json | tuple[FieldError, ...] | AdmissionRefusal


def admit(request: AdmissionRequest, lookup: Lookup) -> AdmissionAnswer:
    if not serves(request.features, request.kind):
        return AdmissionRefusal(
            RefusalReason.NOT_FOUND, f"this cluster does not serve the kind {request.kind}"
        )
    try:
        sent, old = without_nulls(request.new), without_nulls(request.old or {})
    except TooDeepError:
        return (FieldError("", ErrorType.INVALID, None, "the object must have fewer levels of nesting"),)
    if request.subresource in _STATUS:
        return _admit_status(request, sent, old)
    body = _defaulted(request, sent, old)
    if old:
        # An object that was stored before a field had a default gets it now: a default is not a change.
        default(old, request.version, request.features)
    refusal = _complete(request, body, old, lookup)
    if refusal is not None:
        return refusal
    drop_unserved(body, old, request.features)
    _finish(request, body)
    errors = _errors(request, body, old)
    if errors:
        return tuple(errors)
    return _last_refusal(request, body, old, lookup) or body


def complete(request: AdmissionRequest, lookup: Lookup) -> Json:
    """The object with its defaults, as a mutating webhook sees it: ``admit`` takes what becomes of it."""
    try:
        sent, old = without_nulls(request.new), without_nulls(request.old or {})
    except TooDeepError:
        return request.new
    if request.subresource in _STATUS:
        return _with_status_of(request.kind, sent, old)
    body = _defaulted(request, sent, old)
    if request.kind not in _COMPLETED_LAST:
        _complete(request, body, old, lookup)
    return body


def _defaulted(request: AdmissionRequest, sent: Json, old: Json) -> Json:
    body = _started(request, resized(sent, old) if request.subresource == "resize" else sent)
    default(body, request.version, request.features)
    return body


def _last_refusal(
    request: AdmissionRequest, body: Json, old: Json, lookup: Lookup
) -> AdmissionRefusal | None:
    refusal = admission_plugins.resize_refusal(body, old, lookup) if request.subresource == "resize" else None
    match request.kind:
        case "Pod" if request.creates or request.subresource == "resize":
            return refusal or admission_plugins.range_refusal(request.kind, body, lookup)
        case "PersistentVolumeClaim" if "deletionTimestamp" not in part(old, "metadata"):
            refusal = admission_plugins.claim_growth(body, old, lookup) if old else None
            return refusal or admission_plugins.range_refusal(request.kind, body, lookup)
        case "PriorityClass":
            return admission_plugins.one_default_priority(body, lookup)
    return refusal


def _started(request: AdmissionRequest, sent: Json) -> Json:
    """With the kind, the version and the namespace of the request."""
    body = {**sent, "apiVersion": request.api_version, "kind": request.kind}
    meta = made(body, "metadata")
    if _rules(request).namespaced and not meta.get("namespace"):
        meta["namespace"] = request.namespace or "default"
    return body


def _rules(request: AdmissionRequest) -> Rules:
    return request.rules or rules_of(request.api_version, request.kind)


# --- completing ----------------------------------------------------------------------------------


def _complete(request: AdmissionRequest, body: Json, old: Json, lookup: Lookup) -> AdmissionRefusal | None:
    if request.subresource:
        return None
    if not request.creates:
        if request.kind == "Pod":
            admission_plugins.keep_resolved(body, old)
            admission_plugins.default_toleration_seconds(body)
        elif request.kind == "Service":
            admission_plugins.keep_cluster_ip(body, old)
        elif request.kind == "Workload" and request.version == "v1alpha2":
            admission_plugins.keep_resolved_templates(body, old)
        elif request.kind == "CertificateSigningRequest":
            body["spec"] = old.get("spec")
        return None
    if _rules(request).namespaced:
        refusal = admission_plugins.namespace_lifecycle(text_in(part(body, "metadata"), "namespace"), lookup)
        if refusal is not None:
            return refusal
    return _complete_new(request, body, lookup)


def _complete_new(request: AdmissionRequest, body: Json, lookup: Lookup) -> AdmissionRefusal | None:
    match request.kind:
        case "Pod":
            admission_plugins.service_account(body)
            admission_plugins.default_toleration_seconds(body)
            admission_plugins.default_from_ranges(body, lookup)
            return admission_plugins.priority_of_pod(body, lookup) or admission_plugins.runtime_class(
                body, lookup
            )
        case "PodGroup":
            admission_plugins.protect(body, admission_plugins.PROTECTION)
            return admission_plugins.priority_of_new_group(body, request.version, request.features, lookup)
        case "CompositePodGroup":
            return admission_plugins.priority_of_new_group(body, request.version, request.features, lookup)
        case "Workload":
            return admission_plugins.priority_of_templates(body, request.version, request.features, lookup)
        case "Job":
            admission_plugins.job_selector(body)
        case "Service":
            admission_plugins.cluster_ip(body, lookup)
        case "PersistentVolumeClaim":
            admission_plugins.default_storage_class(body, lookup)
            admission_plugins.protect(body, admission_plugins.CLAIM_PROTECTION)
        case "PersistentVolume":
            admission_plugins.protect(body, admission_plugins.VOLUME_PROTECTION)
    return None


def _finish(request: AdmissionRequest, body: Json) -> None:
    if request.kind != "Pod":
        return
    if request.creates:
        merge_label_keys(body)
    if request.creates or request.subresource == "resize":
        default_pod_resources(made(body, "spec"))
    if request.creates:
        body["status"] = _first_status(made(body, "spec"))


def _first_status(spec: Json) -> Json:
    """The status that a pod has before a scheduler or a kubelet has seen it."""
    status: Json = {"phase": "Pending", "qosClass": quality_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "spec.schedulingGates holds it back",
            }
        ]
    return status


# --- checking ------------------------------------------------------------------------------------


def _errors(request: AdmissionRequest, body: Json, old: Json) -> list[FieldError]:
    errors = _standing_errors(request, body)
    rules, thing = _rules(request), At(body)
    if request.creates:
        check_new_metadata(thing["metadata"], rules.name)
        check_marks(thing, rules.type, "create")
    else:
        if errors:
            known = _standing_errors(request, old)
            errors = [error for error in errors if error not in known]
        check_metadata_change(thing["metadata"], part(old, "metadata"))
        if request.subresource == "resize":
            check_resize(thing, old)
        else:
            check_marks(thing, rules.type, "change", old)
    _check_address(request, thing)
    return [*errors, *thing.errors] or _decoding_errors(body, old)


def _standing_errors(request: AdmissionRequest, body: Json) -> list[FieldError]:
    """The errors of an object, whether they are new or not."""
    rules, thing = _rules(request), At(body)
    if thing["metadata"].is_object():
        check_metadata(thing["metadata"], rules.name, rules.namespaced)
    check_marks(thing, rules.type)
    return thing.errors


def _check_address(request: AdmissionRequest, thing: At) -> None:
    meta = thing["metadata"]
    if request.namespace and meta["namespace"].given:
        meta["namespace"].unchanged(request.namespace, f"must be that of the request, {request.namespace}")
    if request.name and name_of(thing.value):
        meta["name"].unchanged(request.name, f"must be that of the request, {request.name}")


def _decoding_errors(body: Json, old: Json) -> list[FieldError]:
    """Rejects what the scheduler could not read, unless it could not read the stored object either."""
    read = decode_value(body)
    if not isinstance(read, Unreadable) or (old and isinstance(decode_value(old), Unreadable)):
        return []
    return [FieldError(read.problem.path, ErrorType.TYPE, None, read.problem.expected)]


# --- writes of the status ------------------------------------------------------------------------

_OWN_WORDS = ("labels", "annotations", "finalizers", "ownerReferences")
# Metadata that such a write leaves unchanged, for kinds that accept only a part of them.
_STAYS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("labels",),
    "Pod": ("ownerReferences",),
    **dict.fromkeys(("PodGroup", "CompositePodGroup"), _OWN_WORDS),
    **dict.fromkeys(("ResourceClaim", "DeviceTaintRule"), _OWN_WORDS),
    "VolumeAttachment": _OWN_WORDS,
}


def _admit_status(request: AdmissionRequest, sent: Json, old: Json) -> AdmissionAnswer:
    body = _with_status_of(request.kind, sent, old)
    rules, thing = _rules(request), At(body)
    if thing["status"].is_object():
        check_marks(thing, rules.type, "status", old)
    meta, before = thing["metadata"], part(old, "metadata")
    if meta.value != before:
        check_metadata(meta, rules.name, rules.namespaced)
        check_metadata_change(meta, before)
    return tuple(thing.errors or _decoding_errors(body, old)) or body


def _with_status_of(kind: str, sent: Json, old: Json) -> Json:
    """The stored object with what a write of its status changes: for some kinds the metadata, too."""
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
