"""A tree of groups: middle groups, each within a zone, of gangs of pods of 3000m at priority 1000."""

from collections.abc import Iterator

from benchmarks.worlds.full import newcomers
from benchmarks.worlds.objects import Json

_WITHIN_A_ZONE = {"topology": [{"key": "topology.kubernetes.io/zone"}]}


def tree(name: str, middles: int, leaves: int, pods: int) -> Iterator[Json]:
    """``leaves``: of each middle group; ``pods``: of each leaf, at least two. All of them are needed."""
    yield _composite(name, middles)
    for i in range(middles):
        middle = _composite(f"{name}-{i}", leaves, name)
        middle["spec"]["schedulingConstraints"] = _WITHIN_A_ZONE
        yield middle
        for j in range(leaves):
            yield from (_inside(thing, f"{name}-{i}") for thing in newcomers(f"{name}-{i}-{j}", pods))


def _composite(name: str, children: int, parent: str = "") -> Json:
    spec: Json = {
        "priority": 1000,
        "schedulingPolicy": {"gang": {"minGroupCount": children}},
        "disruptionMode": {"single": {}},
        "workloadRef": {"workloadName": "tree", "templateName": name},
    }
    if parent:
        spec["parentCompositePodGroupName"] = parent
    meta = {"name": name, "namespace": "default", "uid": f"composite-{name}"}
    head = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup"}
    return {**head, "metadata": meta, "spec": spec}


def _inside(thing: Json, parent: str) -> Json:
    if thing["kind"] != "PodGroup":
        return thing
    template = {"workloadName": "tree", "templateName": thing["metadata"]["name"]}
    spec = {**thing["spec"], "parentCompositePodGroupName": parent, "workloadRef": template}
    return {**thing, "apiVersion": "scheduling.k8s.io/v1alpha3", "spec": spec}
