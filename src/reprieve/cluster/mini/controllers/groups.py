"""PodGroups and CompositePodGroups made from the templates of a Workload, and kept to the size they declare.

A group that somebody else has made from a template is left alone, and none is made beside it.
"""

from collections.abc import Iterator

from reprieve.cluster.api.templates import groups_of
from reprieve.cluster.mini.controllers.mirror import (
    COMPOSITES,
    GROUPS,
    WORKLOADS,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import Composite, Group, Workload, controller_uid
from reprieve.cluster.mini.controllers.writes import Amend, Create, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import BY_NAME, peek, section
from reprieve.cluster.mini.spelling import stored_form
from reprieve.model.json import Json

_RESOURCES = {"PodGroup": GROUPS, "CompositePodGroup": COMPOSITES}


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Workload():
            yield key_in(WORKLOADS, thing)
        case Group():
            yield Key(WORKLOADS, thing.metadata.namespace, _workload_of(thing))


def _workload_of(group: Group) -> str:
    return str(peek(group.spec, "workloadRef").get("workloadName", ""))


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    workload = mirror.workloads.get(Name(key.namespace, key.name))
    if workload is None or workload.metadata.deletion_timestamp is not None:
        return
    for body in groups_of(_body(workload)):
        wanted = stored_form(BY_NAME[body["kind"]], body["apiVersion"], body)
        made = _made_from(mirror, wanted)
        if made is None:
            yield Create(_RESOURCES[body["kind"]], body)
        elif controller_uid(made.metadata) == workload.metadata.uid and _gang(made.spec) != _gang(
            wanted["spec"]
        ):
            yield _resize(made, _gang(wanted["spec"]))


def _body(workload: Workload) -> Json:
    meta = workload.metadata
    return {
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "spec": workload.spec,
    }


def _made_from(mirror: Mirror, wanted: Json) -> Group | None:
    """Who has the name, or else the first that refers to the same template."""
    table = mirror.composites if wanted["kind"] == "CompositePodGroup" else mirror.groups
    meta = wanted["metadata"]
    namesake = table.get(Name(meta["namespace"], meta["name"]))
    if namesake is not None:
        return namesake
    reference = wanted["spec"]["workloadRef"]
    return next((g for g in table.inside(meta["namespace"]) if g.spec.get("workloadRef") == reference), None)


def _gang(spec: Json) -> Json:
    return peek(peek(spec, "schedulingPolicy"), "gang")


def _resize(group: Group, gang: Json) -> Write:
    def change(body: Json) -> None:
        section(section(body, "spec"), "schedulingPolicy")["gang"] = gang

    resource = COMPOSITES if isinstance(group, Composite) else GROUPS
    return Amend(key_in(resource, group), group.metadata.uid, change)
