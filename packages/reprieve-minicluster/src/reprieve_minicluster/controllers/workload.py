"""Workload: creates PodGroups and CompositePodGroups from its templates, and keeps their gang sizes.

If another client has created a group from a template, the controller neither changes it nor creates another.
"""

from collections.abc import Iterator

from reprieve.cluster.api.templates import groups_of
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    CompositeGroupFacts,
    PodGroupFacts,
    Thing,
    WorkloadFacts,
    controller_uid,
)
from reprieve_minicluster.kinds import BY_NAME, peek, section
from reprieve_minicluster.kinds.conversion import to_storage_version
from reprieve_minicluster.store import Key


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case WorkloadFacts():
            yield key_of(thing)
        case PodGroupFacts():
            yield Key(WorkloadFacts.resource, thing.metadata.namespace, _workload_of(thing))


def _workload_of(group: PodGroupFacts) -> str:
    return str(peek(group.spec, "workloadRef").get("workloadName", ""))


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    workload = cache.find(WorkloadFacts, key)
    if workload is None or workload.metadata.deletion_timestamp is not None:
        return
    for body in groups_of(_body(workload)):
        wanted = to_storage_version(BY_NAME[body["kind"]], body["apiVersion"], body)
        made = _made_from(cache, wanted)
        if made is None:
            yield Create(BY_NAME[body["kind"]].resource, body)
        elif controller_uid(made.metadata) == workload.metadata.uid and _gang(made.spec) != _gang(
            wanted["spec"]
        ):
            yield _resize(made, _gang(wanted["spec"]))


def _body(workload: WorkloadFacts) -> Json:
    meta = workload.metadata
    return {
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "spec": workload.spec,
    }


def _made_from(cache: ControllerCache, wanted: Json) -> PodGroupFacts | None:
    """The group of that name, or else the first that refers to the same template."""
    table = (
        cache.of(CompositeGroupFacts) if wanted["kind"] == "CompositePodGroup" else cache.of(PodGroupFacts)
    )
    meta = wanted["metadata"]
    namesake = table.get(meta["namespace"], meta["name"])
    if namesake is not None:
        return namesake
    reference = wanted["spec"]["workloadRef"]
    return next((g for g in table.inside(meta["namespace"]) if g.spec.get("workloadRef") == reference), None)


def _gang(spec: Json) -> Json:
    return peek(peek(spec, "schedulingPolicy"), "gang")


def _resize(group: PodGroupFacts, gang: Json) -> Write:
    return Update.of(group, lambda body: section(section(body, "spec"), "schedulingPolicy").update(gang=gang))
