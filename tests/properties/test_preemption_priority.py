"""Groups that name classes for preemption never preempt each other in a circle, whatever the classes say.

Every group may be given a class, by any annotation, and permitted or not; the priorities do not change.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from reprieve.preemption import searches
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.preemption_priority import ANNOTATION, PermittedClasses
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import LEAST_DISTURBANCE, PRIORITY_CEILING, REPRIEVE
from reprieve.preemption.units import GroupUnits
from tests.properties.worlds import decoded
from tests.reference.demands import gang_demand

CLASSES = {"low": -10, "none": 0, "mid": 5, "high": 50, "top": 1_000_000}
PRIORITIES = st.integers(-12, 60)
SEARCHES = st.sampled_from([PRIORITY_CEILING, LEAST_DISTURBANCE, searches.UPSTREAM])
Edges = dict[str, set[str]]  # groups, and those that each preempts


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """With any classes permitted anywhere."""
    spaces = st.frozensets(st.sampled_from(["*", "team-0", "team-1"]))
    permitted = draw(st.dictionaries(st.sampled_from([*CLASSES]), spaces))
    units = GroupUnits(as_upstream=draw(st.booleans()), permitted=PermittedClasses(permitted))
    return replace(REPRIEVE, units=units, search=draw(SEARCHES))


@st.composite
def groups(draw: st.DrawFn) -> list[Json]:
    """Groups of one pod or two, alone or in a tree, each of which needs the room of any other."""
    found: list[Json] = []
    for i in range(draw(st.integers(2, 4))):
        named = draw(st.sampled_from([*CLASSES, "gone", "", None]))
        meta: Json = {"name": f"g{i}", "namespace": f"team-{draw(st.integers(0, 1))}"}
        meta["annotations"] = {} if named is None else {ANNOTATION: named}
        spec: Json = {
            "priority": draw(PRIORITIES),
            "disruptionMode": {draw(st.sampled_from(["all", "single"])): {}},
        }
        spec["schedulingPolicy"] = {"gang": {"minCount": 1}}
        found.append(_thing("PodGroup", meta, spec))
        if draw(st.booleans()):
            root = {"name": f"root-{i}", "namespace": meta["namespace"], "annotations": meta["annotations"]}
            found.append(_thing("CompositePodGroup", root, {**spec, "schedulingPolicy": {"basic": {}}}))
            spec["parentCompositePodGroupName"] = root["name"]
            meta["annotations"] = {ANNOTATION: draw(st.sampled_from([*CLASSES]))}
    return found


def _thing(kind: str, meta: Json, spec: Json) -> Json:
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": meta, "spec": spec}


def _pod(group: Json, node: str) -> Json:
    meta = group["metadata"]
    spec: Json = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        "schedulingGroup": {"podGroupName": meta["name"]},
        "priority": group["spec"]["priority"],
    }
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{meta['name']}-{node or 'new'}", "namespace": meta["namespace"]},
        "spec": spec,
        "status": {"phase": "Running" if node else "Pending"},
    }


def view_of(things: list[Json], runs: Json, waits: Json) -> Snapshot:
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    node["status"] = {"allocatable": {"cpu": "1", "pods": "10"}}
    classes: list[Json] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": n}, "value": v}
        for n, v in CLASSES.items()
    ]
    objects = [node, *classes, *things, _pod(runs, "n"), _pod(waits, "")]
    return build([decoded(thing) for thing in objects]).snapshot


def preempts(view: Snapshot, waits: Json, policy: Policy) -> bool:
    meta = waits["metadata"]
    demand = gang_demand(view, [view.pods.rows[meta["namespace"], f"{meta['name']}-new"]])
    found = place_together(demand, view)
    assert not isinstance(found, Placement), "there is room for one of them"
    return not isinstance(candidates(Question(demand, view, found.survey, policy=policy), now=0), NoPlan)


def has_circle(edges: Edges) -> bool:
    """Groups that preempt none of those that are left are taken away, again and again."""
    left = set(edges)
    while harmless := {group for group in left if not edges[group] & left}:
        left -= harmless
    return bool(left)


@given(groups(), policies(), policies())
def test_no_circle_of_preemptions(things: list[Json], one: Policy, other: Policy) -> None:
    """Also where profiles with different configurations serve the groups."""
    leaves = [thing for thing in things if thing["kind"] == "PodGroup"]
    edges: Edges = {group["metadata"]["name"]: set() for group in leaves}
    for i, waits in enumerate(leaves):
        policy = other if i % 2 else one
        for runs in leaves:
            if runs is not waits and preempts(view_of(things, runs, waits), waits, policy):
                edges[waits["metadata"]["name"]].add(runs["metadata"]["name"])
    assert not has_circle(edges)


@given(groups(), policies())
def test_it_protects_and_never_exposes(things: list[Json], policy: Policy) -> None:
    """What a group names may keep a preemptor away, and lets in none that its own priority would not."""
    plain = replace(REPRIEVE, units=GroupUnits(), search=policy.search)
    first, second = [thing for thing in things if thing["kind"] == "PodGroup"][:2]
    view = view_of(things, first, second)
    assert preempts(view, second, policy) <= preempts(view, second, plain)
