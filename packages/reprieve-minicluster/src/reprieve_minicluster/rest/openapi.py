"""OpenAPI documents, from which kubectl validates and explains objects.

The fields come from the schema in `cluster.api`, their descriptions from `openapi_descriptions`.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, root
from reprieve.model.json import Json
from reprieve_minicluster.kinds import CustomKind, ResourceKind
from reprieve_minicluster.rest.discovery import RELEASE
from reprieve_minicluster.rest.patches import APPLY, JSON_PATCH, MERGE_PATCH
from reprieve_minicluster.rest.routes import Catalogue

_TITLE = "Kubernetes, as the mini cluster of Reprieve serves it"
_GVK = "x-kubernetes-group-version-kind"
_REF = "#/components/schemas/"
_TYPES = "kubernetes"
_ANY: Json = {"x-kubernetes-preserve-unknown-fields": True}
_SIMPLE: dict[str, Json] = {
    "any": _ANY,
    "jsonSchema": _ANY,
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "intOrString": {"type": "string", "format": "int-or-string"},
    "microTime": {"type": "string", "format": "date-time"},
    "number": {"type": "number"},
    "quantity": {"type": "string"},
    "string": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
}


# --- version 2 -------------------------------------------------------------------------------------

# The media type that clients accept is malformed, so the response has a well-formed one.
OLDER_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
OLDER_GIVEN = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def older_document() -> Json:
    """An empty document: kubectl 1.28 fetches it, and then uses version 3."""
    return {"swagger": "2.0", "info": {"title": _TITLE, "version": f"v{RELEASE}"}, "paths": {}}


def older_document_in_protobuf() -> bytes:
    info = _text(1, _TITLE) + _text(2, f"v{RELEASE}")
    return _text(1, "2.0") + _field(2, info)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field of a protobuf message; contents here are shorter than 128 bytes."""
    return bytes((number << 3 | 2, len(content))) + content


# --- version 3 -------------------------------------------------------------------------------------


def paths(catalogue: Catalogue) -> Json:
    prefixes = [_prefix(version) for version in catalogue.kinds]
    return {"paths": {prefix[1:]: {"serverRelativeURL": f"/openapi/v3{prefix}"} for prefix in prefixes}}


def document(catalogue: Catalogue, api_version: str) -> bytes:
    return _document(api_version, tuple(catalogue.kinds[api_version].values()))


@lru_cache(maxsize=16)
def _document(api_version: str, served: tuple[ResourceKind, ...]) -> bytes:
    schemas: dict[str, Json] = {}
    for kind in served:
        schemas[_name(api_version, kind)] = _of_kind(api_version, kind, schemas)
    return msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": _TITLE, "version": f"v{RELEASE}"},
            "paths": {path: item for kind in served for path, item in _of_paths(api_version, kind).items()},
            "components": {"schemas": schemas},
        }
    )


def _prefix(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _name(api_version: str, kind: ResourceKind) -> str:
    return f"{api_version.replace('/', '.')}.{kind.kind}"


def _gvk(api_version: str, kind: ResourceKind) -> Json:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind.kind}


# --- paths -----------------------------------------------------------------------------------------


def _of_paths(api_version: str, kind: ResourceKind) -> dict[str, Json]:
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    base = f"{_prefix(api_version)}{scope}/{kind.plural}"
    return {
        base: {"get": _operation(api_version, kind, "list"), "post": _operation(api_version, kind, "post")},
        f"{base}/{{name}}": {
            action: _operation(api_version, kind, action) for action in ("get", "put", "patch", "delete")
        },
    }


def _operation(api_version: str, kind: ResourceKind, action: str) -> Json:
    """Strategic merge patches are served, but not listed: kubectl has the merge keys built in."""
    body = {"schema": {"$ref": _REF + _name(api_version, kind)}}
    operation: Json = {
        "operationId": f"{action}{api_version.title().replace('/', '').replace('.', '')}{kind.kind}",
        "x-kubernetes-action": action,
        _GVK: _gvk(api_version, kind),
        "responses": {"200": {"description": "OK", "content": {"application/json": body}}},
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [_parameter(name) for name in ("dryRun", "fieldManager", "fieldValidation")]
    if action == "patch":
        operation["requestBody"] = {
            "content": {media: {"schema": _ANY} for media in (JSON_PATCH, MERGE_PATCH, APPLY)}
        }
    return operation


def _parameter(name: str) -> Json:
    return {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}


# --- schemas ---------------------------------------------------------------------------------------


def _of_kind(api_version: str, kind: ResourceKind, schemas: dict[str, Json]) -> Json:
    if kind.custom is not None:
        return _of_custom_kind(api_version, kind, kind.custom, schemas)
    described = _properties(root(api_version, kind.kind), schemas)
    always = {"apiVersion": f"Always {api_version}.", "kind": f"Always {kind.kind}."}
    return {
        "type": "object",
        "description": kind.description,
        "properties": {
            name: {**schema, "description": always.get(name) or schema.get("description", "")}
            for name, schema in described.items()
        },
        _GVK: [_gvk(api_version, kind)],
    }


def _of_custom_kind(
    api_version: str, kind: ResourceKind, custom: CustomKind, schemas: dict[str, Json]
) -> Json:
    """The schema of the definition, with apiVersion, kind and metadata."""
    schema = custom.schema(api_version.rpartition("/")[2])
    own = schema.get("properties") or {}
    head = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": _referred(Object("ObjectMeta"), schemas),
    }
    return {**schema, "type": "object", "properties": {**own, **head}, _GVK: [_gvk(api_version, kind)]}


def _properties(thing: Object, schemas: dict[str, Json]) -> dict[str, Json]:
    return {name: _property(thing, name, kind, schemas) for name, kind in sorted(fields_of(thing).items())}


def _property(thing: Object, name: str, kind: Type, schemas: dict[str, Json]) -> Json:
    schema = _schema(kind, schemas)
    description = FIELDS.get(f"{thing.name}.{name}", schema.get("description", ""))
    return {**schema, "description": description} if description else schema


def _schema(kind: Type, schemas: dict[str, Json]) -> Json:
    match kind:
        case Plain(name):
            return _SIMPLE[name]
        case ListOf(item):
            return {"type": "array", "items": _schema(item, schemas)}
        case MapOf(value):
            return {"type": "object", "additionalProperties": _schema(value, schemas)}
        case Object():
            return _referred(kind, schemas)


def _referred(thing: Object, schemas: dict[str, Json]) -> Json:
    """Add each type once; the placeholder ends the recursion of types that contain themselves."""
    name = f"{_TYPES}.{thing.name}"
    description = TYPES.get(thing.name, "")
    if name not in schemas:
        schemas[name] = {}
        schemas[name] = {
            "type": "object",
            "description": description,
            "properties": _properties(thing, schemas),
        }
    # OpenAPI 3.0 ignores siblings of a $ref, so allOf wraps it.
    return {"description": description, "allOf": [{"$ref": _REF + name}]}


# --- descriptions ---------------------------------------------------------------------------------


TYPES: Mapping[str, str] = {
    "ObjectMeta": "Metadata that all objects have: name, labels, owners.",
    "Affinity": "Scheduling constraints and preferences by nodes, or by the pods that run there.",
    "Toleration": "A taint that the pod tolerates.",
    "Taint": "Repels pods that do not tolerate it.",
    "TopologySpreadConstraint": "How evenly matching pods must spread among topology domains.",
    "ResourceRequirements": "Requests and limits of compute resources.",
    "GangSchedulingPolicy": "All or nothing: no pod starts unless minCount pods can.",
    "BasicSchedulingPolicy": "Each pod is scheduled on its own.",
    "DisruptionMode": "Exactly one of single and all.",
}

FIELDS: Mapping[str, str] = {
    "NodePodPreemptionPolicy.disableResizePreemption": (
        "Keys of the owners that disable preemption for resizes on this node; at most 20 label keys."
    ),
    "NodeSpec.podPreemptionPolicy": "Which preemption the owners of the node allow.",
    "NodeSpec.taints": "Repel pods that do not tolerate them.",
    "NodeSpec.unschedulable": "Whether the node is unschedulable for new pods; see kubectl cordon.",
    "NodeStatus.allocatable": "The resources that are available for pods.",
    "ObjectMeta.deletionTimestamp": "When the object will be deleted. It cannot be unset.",
    "ObjectMeta.finalizers": "The object stays until controllers have removed all of these entries.",
    "ObjectMeta.generateName": "A prefix from which the server generates a unique name.",
    "ObjectMeta.generation": "A sequence number of the desired state.",
    "ObjectMeta.ownerReferences": "Its owners. It is garbage collected when all of them are gone.",
    "ObjectMeta.resourceVersion": "Its version. An update that names an older one is a conflict.",
    "PodAffinityTerm.topologyKey": "The node label that defines the topology domains.",
    "PodDisruptionBudgetSpec.maxUnavailable": "How many pods may be unavailable: a number or a percentage.",
    "PodDisruptionBudgetSpec.minAvailable": "How many pods must stay available: a number or a percentage.",
    "PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": "AlwaysAllow: unready pods may always be evicted.",
    "PodDisruptionBudgetStatus.disruptionsAllowed": "How many more pods may be evicted now.",
    "PodGroupSpec.disruptionMode": "Whether its pods are preempted one by one, or only all together.",
    "PodGroupSpec.parentCompositePodGroupName": "The CompositePodGroup to which this group belongs.",
    "PodGroupSpec.preemptionPolicy": "PreemptLowerPriority, or Never: it waits until resources are free.",
    "PodGroupSpec.priority": "Set from the priority class; for the whole group as preemptor and as victim.",
    "PodGroupSpec.priorityClassName": "The PriorityClass that gives the priority.",
    "PodGroupSpec.schedulingConstraints": "The topology domain in which the whole group must run.",
    "PodGroupSpec.schedulingPolicy": "Exactly one of basic and gang.",
    "PodGroupSpec.workloadRef": "The Workload and the template from which it was created.",
    "DisruptionMode.all": "The group is preempted as a whole, or not at all.",
    "DisruptionMode.single": "Its pods may be preempted one by one.",
    "GangSchedulingPolicy.minCount": "How many pods must start together; it may be changed.",
    "PodSchedulingGroup.podGroupName": "The PodGroup to which the pod belongs, in the same namespace.",
    "PodSpec.activeDeadlineSeconds": "How many seconds the pod may be active before it is stopped.",
    "PodSpec.nodeName": "The node to which the pod is bound. The scheduler sets it.",
    "PodSpec.nodeSelector": "Labels that a node must have.",
    "PodSpec.overhead": "Resources that the pod needs besides those of its containers.",
    "PodSpec.preemptionPolicy": "PreemptLowerPriority, or Never: the pod waits until resources are free.",
    "PodSpec.priority": "Set from the priority class. A pod with a higher value may preempt others.",
    "PodSpec.priorityClassName": "The PriorityClass that gives the priority; if empty, the global default.",
    "PodSpec.resources": "Requests and limits of the pod as a whole.",
    "PodSpec.schedulerName": "The scheduler that binds the pod.",
    "PodSpec.schedulingGates": "The pod is not scheduled until the list is empty. Gates can only be removed.",
    "PodSpec.schedulingGroup": "The group with which the pod is scheduled.",
    "PodSpec.terminationGracePeriodSeconds": "How long the pod may take to stop; 30 seconds by default.",
    "PodSpec.tolerations": "Taints of nodes that the pod tolerates.",
    "PodSpec.topologySpreadConstraints": "How evenly pods like this one must spread among topology domains.",
    "PodStatus.nominatedNodeName": "The node on which pods are preempted for this pod.",
    "PodStatus.phase": "Pending, Running, Succeeded or Failed.",
    "PodStatus.qosClass": "Guaranteed, Burstable or BestEffort, by requests and limits.",
    "PriorityClass.description": "When to use the class.",
    "PriorityClass.globalDefault": "Whether it applies to pods without a class. Only one class can have it.",
    "PriorityClass.preemptionPolicy": "PreemptLowerPriority, or Never.",
    "PriorityClass.value": "The priority: at most 1000000000, and immutable.",
    "ResourceRequirements.limits": "The maximum that may be used.",
    "ResourceRequirements.requests": "What is reserved, and by which the scheduler chooses a node.",
    "StorageClass.volumeBindingMode": "Immediate, or WaitForFirstConsumer: when its pod is placed.",
    "TopologySpreadConstraint.maxSkew": "How many more pods a domain may have than the emptiest.",
    "WorkloadSpec.podGroupTemplates": "A controller creates a PodGroup from each of them.",
}
