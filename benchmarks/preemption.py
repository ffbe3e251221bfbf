"""How long a decision takes that must evict: a pod or a gang, in clusters that are full.

Nodes have 4 cpu and four pods of 900m at priority 0; whoever comes wants 3000m a pod, at priority 1000. The
variants show what makes it harder: a priority for every pod, groups that go whole, budgets for some or for
all, rules that look at other pods (at newcomers, at everybody alike, nobody beside), pods that may not be
taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.clusters import Json, container, pod
from benchmarks.measure import microseconds
from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot
from reprieve.model.snapshot_builder import build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand
from reprieve.placement.place import Unplaceable, place
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import REPRIEVE, UPSTREAM, Policy
from reprieve.preemption.question import Question
from reprieve.preemption.search import plans_worth_ranking
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS

PODS_PER_NODE = 4
_APPS = 997
_ANYBODY = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
# What kube-scheduler 1.37 takes, in milliseconds; of 5,000 nodes it tries a tenth for a pod.
KUBE_SCHEDULER = {"P500": 18.8, "G500": 783.0, "P5000": 21.6, "G5000": 11_600.0}
POLICIES = {"default": REPRIEVE, "Upstream": UPSTREAM}


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    nodes: int
    newcomers: int
    variant: str = "plain"


VARIANTS = ("priorities", "groups", "budgets", "guarded", "spread", "tolerations")
SHAPES = (
    Shape("P500", 500, 1),
    Shape("G500", 500, 50),
    Shape("P5000", 5000, 1),
    Shape("G5000", 5000, 100),
    *(Shape("P5000", 5000, 1, variant) for variant in (*VARIANTS, "even", "apart")),
    *(Shape("G5000", 5000, 100, variant) for variant in VARIANTS),
)


def preemption(shapes: tuple[Shape, ...] = SHAPES) -> Iterator[dict[str, object]]:
    for shape in shapes:
        view = _snapshot(shape)
        rows = range(len(view.pods) - shape.newcomers, len(view.pods))
        demand = Demand(tuple(rows), CONSTRAINTS, needed=shape.newcomers, priority=1000)
        times = {
            name: microseconds(lambda view=view, demand=demand, policy=policy: _decide(view, demand, policy))  # type: ignore[misc]
            for name, policy in POLICIES.items()
        }
        theirs = KUBE_SCHEDULER[shape.name] if shape.variant == "plain" else None
        yield {"shape": shape.name, "variant": shape.variant, **times, "kube-scheduler, ms": theirs}


def _decide(view: Snapshot, demand: Demand, policy: Policy) -> None:
    """First it is found not to fit, then room is made."""
    unplaced = place(demand, view)
    if not isinstance(unplaced, Unplaceable):
        raise SystemExit("the benchmark's cluster is not full")
    question = Question(demand, view, unplaced.survey, policy=policy)
    if isinstance(plans_worth_ranking(question, now=0), NoPlan):
        raise SystemExit("the benchmark found no plan")


# --- the cluster ---------------------------------------------------------------------------------


def _snapshot(shape: Shape) -> Snapshot:
    return build([_decoded(thing) for thing in _objects(shape)]).snapshot


def _decoded(value: Json) -> KubernetesObject:
    result = decode_value(value)
    if not isinstance(result, Decoded):
        raise SystemExit(f"the benchmark's own object cannot be read: {result}")
    return result.object


def _objects(shape: Shape) -> Iterator[Json]:
    for i in range(shape.nodes):
        yield _node(i)
    for i in range(shape.nodes * PODS_PER_NODE):
        yield _inhabitant(i, shape)
    if shape.variant == "groups":
        yield from map(_group, range(shape.nodes))
    if shape.variant == "tolerations":
        yield _tolerant_class()
    if shape.variant == "budgets":
        yield from map(_budget, range(100))
    if shape.variant == "guarded":
        yield from map(_budget, range(_APPS))
    for i in range(shape.newcomers):
        yield _newcomer(i, shape)


def _node(i: int) -> Json:
    labels = {"kubernetes.io/hostname": f"node-{i:05d}", "topology.kubernetes.io/zone": f"zone-{i % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{i:05d}", "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
    }


def _inhabitant(i: int, shape: Shape) -> Json:
    spec: Json = {"nodeName": f"node-{i % shape.nodes:05d}", "containers": [container("900m", None)]}
    spec["priority"] = i % 900 if shape.variant == "priorities" else 0
    if shape.variant == "tolerations" and i % 8 < 4:
        spec["priorityClassName"] = "tolerant"
    if shape.variant == "groups":
        spec["schedulingGroup"] = {"podGroupName": f"group-{i // PODS_PER_NODE}"}
    thing = pod(f"low-{i}", {"app": f"app-{i % _APPS}"}, spec)
    thing["status"]["startTime"] = "2026-01-01T00:00:00Z"
    return thing


def _tolerant_class() -> Json:
    """Half of all pods are of it, and may not be taken."""
    annotations = {MINIMUM_PRIORITY: "2000", SECONDS: "-1"}
    meta = {"name": "tolerant", "annotations": annotations}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": 0}


def _group(i: int) -> Json:
    """Its pods run on four nodes."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"group-{i}", "namespace": "default"},
        "spec": {"priority": 0, "schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
    }


def _budget(i: int) -> Json:
    """It allows nothing. A hundred are for a tenth of all pods."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{i}", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": f"app-{i}"}}},
        "status": {"disruptionsAllowed": 0},
    }


def _newcomer(i: int, shape: Shape) -> Json:
    spec: Json = {"priority": 1000, "containers": [container("3000m", None)]}
    if shape.variant in ("spread", "even"):
        rule = {
            "maxSkew": 5,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }
        among = {"matchLabels": {"app": "high"}} if shape.variant == "spread" else _ANYBODY
        spec["topologySpreadConstraints"] = [rule | {"labelSelector": among}]
    if shape.variant == "apart":
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": _ANYBODY}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": required}
    return pod(f"high-{i}", {"app": "high"}, spec)
