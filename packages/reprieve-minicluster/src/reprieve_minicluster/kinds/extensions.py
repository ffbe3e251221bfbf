"""Kinds that extend an API server: webhooks, policies of admission, and what is stored for others."""

from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    NONE,
    TableColumn,
    condition,
    duration,
    items_at,
    number,
    number_at,
    size,
    text,
    text_at,
)
from reprieve_minicluster.kinds.kind import APART, CONTENT, SPEC, ResourceKind

_ADMISSION = "admissionregistration.k8s.io"
_FLOWS = "flowcontrol.apiserver.k8s.io"


def _param_kind(body: Json, now: float) -> str:
    kind = text_at(body, "spec.paramKind.kind", "")
    return f"{text_at(body, 'spec.paramKind.apiVersion')}/{kind}" if kind else "<unset>"


def _param_ref(body: Json, now: float) -> str:
    name = text_at(body, "spec.paramRef.name", "")
    namespace = text_at(body, "spec.paramRef.namespace", "*")
    return f"{namespace}/{name}" if name else "<unset>"


def _service(body: Json, now: float) -> str:
    name = text_at(body, "spec.service.name", "")
    return f"{text_at(body, 'spec.service.namespace')}/{name}" if name else "Local"


def _available(body: Json, now: float) -> str:
    found = condition(body, "Available")
    status = text_at(found, "status", "Unknown")
    return status if status == "True" or "reason" not in found else f"{status} ({text_at(found, 'reason')})"


def _lifetime(body: Json, now: float) -> str:
    seconds = number_at(body, "spec.expirationSeconds")
    return duration(seconds) if seconds else NONE


def _request_state(body: Json, now: float) -> str:
    held = {text_at(one, "type") for one in items_at(body, "status.conditions")}
    said = next((word for word in ("Denied", "Approved") if word in held), "Pending")
    further = ("Failed",) if "Failed" in held else ()
    issued = ("Issued",) if text_at(body, "status.certificate", "") else ()
    return ",".join((said, *further, *issued))


_for_cluster = partial(ResourceKind, namespaced=False)
_configured = partial(_for_cluster, group=_ADMISSION, generation=CONTENT)
_POLICY = (
    NAME,
    size("Validations", "spec.validations"),
    TableColumn("ParamKind", _param_kind),
    AGE,
)
_MUTATIONS = (NAME, size("Mutations", "spec.mutations"), *_POLICY[2:])
_BINDING = (NAME, text("PolicyName", "spec.policyName"), TableColumn("ParamRef", _param_ref), AGE)
_WEBHOOKS = (NAME, size("Webhooks", "webhooks"), AGE)

KINDS = (
    _configured(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        description="Webhooks that may change objects before they are stored.",
        merge_keys={"webhooks": "name", "webhooks.matchConditions": "name"},
        columns=_WEBHOOKS,
    ),
    _configured(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        description="Webhooks that may refuse requests.",
        merge_keys={"webhooks": "name", "webhooks.matchConditions": "name"},
        columns=_WEBHOOKS,
    ),
    _configured(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        description="Rules in CEL that requests must follow where a binding says so.",
        status=APART,
        generation=SPEC,
        merge_keys={"spec.matchConditions": "name", "spec.variables": "name"},
        columns=_POLICY,
    ),
    _configured(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        description="Where a ValidatingAdmissionPolicy counts, with which parameters and consequences.",
        generation=SPEC,
        columns=_BINDING,
    ),
    _configured(
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        description="Changes in CEL of objects before they are stored; the mini cluster cannot make them.",
        generation=SPEC,
        merge_keys={"spec.matchConditions": "name", "spec.variables": "name"},
        columns=_MUTATIONS,
    ),
    _configured(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        description="Where a MutatingAdmissionPolicy counts, and with which parameters.",
        generation=SPEC,
        columns=_BINDING,
    ),
    _for_cluster(
        "APIService",
        "apiservices",
        "apiregistration.k8s.io",
        description="A group and version that another server serves; the mini cluster forwards no requests.",
        status=APART,
        columns=(NAME, TableColumn("Service", _service), TableColumn("Available", _available), AGE),
    ),
    _for_cluster(
        "FlowSchema",
        "flowschemas",
        _FLOWS,
        description="Which requests belong to which priority level; the mini cluster queues none.",
        status=APART,
        generation=SPEC,
        columns=(
            NAME,
            text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
            number("MatchingPrecedence", "spec.matchingPrecedence"),
            text("DistinguisherMethod", "spec.distinguisherMethod.type"),
            AGE,
        ),
    ),
    _for_cluster(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        _FLOWS,
        description="How many requests of a level are served at a time; the mini cluster limits none.",
        status=APART,
        generation=SPEC,
        columns=(
            NAME,
            text("Type", "spec.type"),
            text("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares"),
            text("Queues", "spec.limited.limitResponse.queuing.queues"),
            text("HandSize", "spec.limited.limitResponse.queuing.handSize"),
            text("QueueLengthLimit", "spec.limited.limitResponse.queuing.queueLengthLimit"),
            AGE,
        ),
    ),
    _for_cluster(
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "certificates.k8s.io",
        description="A request for a certificate; the mini cluster signs none.",
        short=("csr",),
        status=APART,
        parts=("approval",),
        columns=(
            NAME,
            AGE,
            text("SignerName", "spec.signerName"),
            text("Requestor", "spec.username"),
            TableColumn("RequestedDuration", _lifetime),
            TableColumn("Condition", _request_state),
        ),
    ),
)
