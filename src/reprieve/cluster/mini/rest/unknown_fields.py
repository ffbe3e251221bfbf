"""Which fields of a body nobody here has ever heard of: most often a word misspelt.

Only what the lists below and those of pods cover is looked into; everything else is taken on trust.
"""

from collections.abc import Iterator, Mapping

from reprieve.cluster.api.pod_fields import unknown_fields as unknown_in_pod_spec
from reprieve.cluster.mini.errors import bad_request
from reprieve.cluster.mini.kinds import Json, Kind
from reprieve.cluster.mini.rest.bodies import media_type, repeated_fields
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.query import FieldValidation
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.spelling import in_client_words


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


METADATA = _names("""
    annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
    generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid
""")
_GROUP = """
    schedulingPolicy schedulingConstraints resourceClaims disruptionMode priorityClassName priority
    preemptionPolicy
"""
_REPLICAS = "minReadySeconds replicas selector template"
SPECS: Mapping[str, frozenset[str]] = {
    "Namespace": _names("finalizers"),
    "Node": _names("""
        configSource externalID podCIDR podCIDRs podPreemptionPolicy preemptionPolicy providerID taints
        unschedulable
    """),
    "Deployment": _names(f"{_REPLICAS} paused progressDeadlineSeconds revisionHistoryLimit strategy"),
    "ReplicaSet": _names(_REPLICAS),
    "ReplicationController": _names(_REPLICAS),
    "Job": _names("""
        activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy
        manualSelector maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy scheduling selector
        successPolicy suspend template ttlSecondsAfterFinished
    """),
    "PodDisruptionBudget": _names("maxUnavailable minAvailable selector unhealthyPodEvictionPolicy"),
    "PodGroup": _names(f"{_GROUP} parentCompositePodGroupName podGroupTemplateRef workloadRef"),
    "CompositePodGroup": _names(f"{_GROUP} parentCompositePodGroupName workloadRef"),
    "Workload": _names("controllerRef podGroupTemplates compositePodGroupTemplates"),
    "PersistentVolumeClaim": _names("""
        accessModes dataSource dataSourceRef resources selector storageClassName volumeAttributesClassName
        volumeMode volumeName
    """),
    "Lease": _names("""
        acquireTime holderIdentity leaseDurationSeconds leaseTransitions preferredHolder renewTime strategy
    """),
    "CSINode": _names("drivers"),
}
_TEMPLATE = _names("metadata spec")


def complaints_about(kind: Kind, api_version: str, new: Json, old: Json) -> Iterator[str]:
    """About fields of an object that nobody knows, and that it did not have before."""
    known = frozenset(unknown(kind, api_version, old))
    for path in unknown(kind, api_version, new):
        if path not in known:
            yield f'unknown field "{path}"'


def judged(
    complaints: tuple[str, ...], place: Place, request: Request, mode: FieldValidation
) -> tuple[str, ...]:
    """The warnings that the client is given; an ApiError 400 where it wants to have no such fields."""
    if mode is not FieldValidation.STRICT:
        return complaints if mode is FieldValidation.WARN else ()
    repeated = repeated_fields(request.body, media_type(request))
    complaints += tuple(f'duplicate field "{name}"' for name in repeated)
    if complaints:
        what = f'{place.kind.kind} in version "{place.api_version}"'
        raise bad_request(f"{what}: strict decoding error: {', '.join(complaints)}")
    return ()


def unknown(kind: Kind, api_version: str, body: Json) -> Iterator[str]:
    content = in_client_words(api_version, kind.content)
    yield from _others(body, {*content, "apiVersion", "kind", "metadata", "status"}, "")
    yield from _others(body.get("metadata"), METADATA, "metadata")
    spec = body.get("spec")
    if kind.kind == "Pod":
        yield from unknown_in_pod_spec(spec)
        return
    known = SPECS.get(kind.kind)
    if known is not None:
        yield from _others(spec, known, "spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if isinstance(template, dict) and known is not None and "template" in known:
        yield from _in_template(template)


def _in_template(template: Json) -> Iterator[str]:
    yield from _others(template, _TEMPLATE, "spec.template")
    yield from _others(template.get("metadata"), METADATA, "spec.template.metadata")
    for path in unknown_in_pod_spec(template.get("spec")):
        yield f"spec.template.{path}"


def _others(value: object, known: frozenset[str] | set[str], path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            if name not in known and below is not None:
                yield f"{path}.{name}" if path else name
