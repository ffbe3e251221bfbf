"""What one object lists costs a decision in proportion, and beyond a bound nothing.

Steps are counted and not timed: calls of functions, and bytes allocated at the peak.
"""

import math
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, bound, target
from tests.unit.scheduler.serving import Served
from tests.unit.scheduler.stage import Stage, notes, stage_with

from reprieve.model import footprint, pod_compilation
from reprieve.model import pod_compilation as bounds
from reprieve.model.effects import Bind, Effect
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, PodGroup, PriorityClass
from reprieve.model.sized_cache import Templates
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

Lists = Callable[[int], Json]  # the fields of a pod with so many entries in one of its lists

NODES = [a_node(f"n{i}", labels={"zone": f"z{i % 2}", "kubernetes.io/hostname": f"n{i}"}) for i in range(4)]


def requests(**more: str) -> Json:
    return {"requests": {"cpu": "3", **more}}


def with_ports(count: int, **fields: str) -> Json:
    ports = [{"containerPort": 80, "hostPort": 1000 + i, **fields} for i in range(count)]
    return {"containers": [{"name": "c", "resources": requests(), "ports": ports}]}


def with_addresses(count: int) -> Json:
    ports = [
        {"containerPort": 80, "hostPort": 80, "hostIP": f"10.0.{i // 250}.{i % 250}"} for i in range(count)
    ]
    return {"containers": [{"name": "c", "resources": requests(), "ports": ports}]}


def pod_term(key: str, **labels: str) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def with_pod_terms(kind: str, key: str = "zone") -> Lists:
    def fields(count: int) -> Json:
        terms = [pod_term(key.format(i), app=f"other-{i}") for i in range(count)]
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}

    return fields


def with_preferences(kind: str, key: str = "zone", app: str = "web") -> Lists:
    def fields(count: int) -> Json:
        terms = [
            {"weight": 1 + i % 100, "podAffinityTerm": pod_term(key.format(i), app=app.format(i))}
            for i in range(count)
        ]
        return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}

    return fields


def node_affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def expression(key: str, *values: str) -> Json:
    return {"key": key, "operator": "NotIn", "values": list(values)}


def with_node_terms(count: int) -> Json:
    return node_affinity(*({"matchExpressions": [expression(f"k{i}", "v")]} for i in range(count)))


def with_requirements(count: int) -> Json:
    return node_affinity({"matchExpressions": [expression(f"k{i}", "v") for i in range(count)]})


def with_requirements_in_all(count: int) -> Json:
    terms = [
        {"matchExpressions": [expression(f"k{i}-{j}", "v") for j in range(50)]} for i in range(count // 50)
    ]
    rest = {"matchExpressions": [expression(f"k{i}", "v") for i in range(count % 50)]}
    return node_affinity(*terms, rest)


def with_values(count: int) -> Json:
    return node_affinity({"matchExpressions": [expression("zone", *(f"v{i}" for i in range(count)))]})


def with_node_preferences(count: int) -> Json:
    terms = [
        {"weight": 1, "preference": {"matchExpressions": [expression(f"k{i}", "v")]}} for i in range(count)
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def with_selector(count: int) -> Json:
    return {"nodeSelector": {f"k{i}": "v" for i in range(count)}}


def with_spread(mode: str) -> Lists:
    def fields(count: int) -> Json:
        rules = [
            {
                "topologyKey": "zone",
                "maxSkew": 5,
                "whenUnsatisfiable": mode,
                "labelSelector": {"matchLabels": {"app": f"a{i}"}},
            }
            for i in range(count)
        ]
        return {"topologySpreadConstraints": rules}

    return fields


def with_tolerations(count: int) -> Json:
    return {"tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(count)]}


def with_namespaces(count: int) -> Json:
    term = {**pod_term("zone", app="other"), "namespaces": [f"ns-{i}" for i in range(count)]}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def with_gates(count: int) -> Json:
    return {"schedulingGates": [{"name": f"example.com/g{i}"} for i in range(count)]}


def with_containers(count: int) -> Json:
    more = [{"name": f"c{i}", "image": f"image-{i}"} for i in range(count - 1)]
    return {"containers": [{"name": "c", "resources": requests()}, *more]}


def with_resources(count: int) -> Json:
    named = {f"example.com/r{i}": "0" for i in range(count - 2)}  # beside cpu and pods
    return {"containers": [{"name": "c", "resources": requests(**named)}]}


def with_claims(count: int) -> Json:
    return {"claims": [f"claim-{i}" for i in range(count)]}


def with_disks(count: int) -> Json:
    disks = [
        {"name": f"v{i}", "rbd": {"monitors": ["m"], "pool": "p", "image": f"i{i}"}} for i in range(count)
    ]
    return {"volumes": disks}


LISTS: dict[str, tuple[Lists, int]] = {
    "host ports": (with_ports, bounds.MOST_PORTS),
    "addresses": (with_addresses, bounds.MOST_PORTS),
    "affinity": (with_pod_terms("podAffinity"), bounds.MOST_TERMS),
    "anti-affinity": (with_pod_terms("podAntiAffinity"), bounds.MOST_TERMS),
    "anti-affinity, topologies": (with_pod_terms("podAntiAffinity", "k{}"), bounds.MOST_TERMS),
    "preferred pods": (with_preferences("podAffinity"), bounds.MOST_TERMS),
    "preferred pods, topologies": (with_preferences("podAffinity", "k{}"), bounds.MOST_TERMS),
    "preferred pods, selectors": (
        with_preferences("podAntiAffinity", "k{}", "a{}"),
        bounds.MOST_TERMS,
    ),
    "node terms": (with_node_terms, bounds.MOST_TERMS),
    "node preferences": (with_node_preferences, bounds.MOST_TERMS),
    "requirements": (with_requirements, bounds.MOST_REQUIREMENTS),
    "requirements in all terms": (with_requirements_in_all, bounds.MOST_REQUIREMENTS_IN_ALL),
    "values": (with_values, bounds.MOST_VALUES),
    "node selector": (with_selector, bounds.MOST_REQUIREMENTS),
    "spread": (with_spread("DoNotSchedule"), bounds.MOST_SPREAD_RULES),
    "preferred spread": (with_spread("ScheduleAnyway"), bounds.MOST_SPREAD_RULES),
    "tolerations": (with_tolerations, bounds.MOST_TOLERATIONS),
    "namespaces": (with_namespaces, bounds.MOST_NAMESPACES),
    "gates": (with_gates, bounds.MOST_GATES),
    "containers": (with_containers, bounds.MOST_CONTAINERS),
    "resources": (with_resources, bounds.MOST_RESOURCES),
    "claims": (with_claims, bounds.MOST_VOLUMES),
    "disks": (with_disks, bounds.MOST_DISKS),
}


# --- counting ------------------------------------------------------------------------------------


Batches = list[list[Event]]  # events that are observed together


def decide(batches: Batches) -> None:
    """From nothing: no template is remembered from before."""
    pod_compilation._remembered, footprint._remembered = Templates(), Templates()
    scheduler = Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE}))
    for events in batches:
        scheduler.observe(events, on_one_clock(0.0))
        while scheduler.decide(on_one_clock(0.0)) is not None:
            pass


def steps(batches: Batches) -> int:
    """Calls of functions, of Python's and of C's."""
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        decide(batches)
    finally:
        sys.setprofile(before)
    return count


def peak(batches: Batches) -> int:
    tracemalloc.start()
    try:
        decide(batches)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_in_proportion(world: Callable[[int], list[KubernetesObject]], most: int) -> None:
    assert_batches_in_proportion(lambda count: [[*map(Seen, world(count)), Synced()]], most)


def assert_batches_in_proportion(world: Callable[[int], Batches], most: int) -> None:
    """Four times as much costs no more than n log n allows. (Hash tables grow by that factor at once.)"""
    small = most // 4
    allowed = 4 * math.log(most) / math.log(small)
    for cost in (steps, peak):
        decide(world(most))  # what modules build on first use is not counted
        less, more = cost(world(small)), cost(world(most))
        assert more <= allowed * less, f"{cost.__name__}: {less} for {small}, {more} for {most}"


# --- in proportion -------------------------------------------------------------------------------


def crowd(fields: Json) -> list[KubernetesObject]:
    """Pods with the same lists: one on each node, and one that waits for the room of one."""
    held = [a_pod(f"old-{n.metadata.name}", **{"cpu": "3", **fields}, on=n.metadata.name) for n in NODES]
    labelled = {"labels": {"app": "web"}, **fields}
    return [*NODES, *held, a_pod("new", **{"cpu": "2", **labelled}, priority=9)]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_a_pod_costs_in_proportion(name: str) -> None:
    fields, most = LISTS[name]
    assert_in_proportion(lambda count: crowd(fields(count)), most)


def test_labels_of_a_pod_cost_in_proportion() -> None:
    """Only the size of an object bounds them."""

    def world(count: int) -> list[KubernetesObject]:
        labels = {f"k{i}": "v" for i in range(count)}
        affine = {**with_pod_terms("podAntiAffinity")(5), **with_spread("ScheduleAnyway")(5)}
        other = a_pod("other", cpu="1", **affine, labels={"app": "a1"}, on=NODES[0].metadata.name)
        return [*crowd({**affine, "labels": labels}), other, a_budget("b", 0, app="a1")]

    assert_in_proportion(world, 20_000)


def test_budgets_cost_in_proportion() -> None:
    def world(count: int) -> list[KubernetesObject]:
        return [*crowd({}), *(a_budget(f"b{i}", 0, app=f"a{i}") for i in range(count))]

    assert_in_proportion(world, 200)


def test_priority_classes_cost_in_proportion() -> None:
    def world(count: int) -> list[KubernetesObject]:
        meta = {"uid": "u", "resourceVersion": "1"}
        classes = [{"metadata": {**meta, "name": f"c{i}"}, "value": i} for i in range(count)]
        return [*crowd({}), *(msgspec.convert(c, PriorityClass) for c in classes)]

    assert_in_proportion(world, 200)


def test_conditions_of_a_group_cost_in_proportion() -> None:
    """A PodGroup has no other list."""

    def world(count: int) -> list[KubernetesObject]:
        conditions = [{"type": f"example.com/c{i}", "status": "True"} for i in range(count)]
        members = [a_member(f"m{i}", cpu="2") for i in range(2)]
        return [*crowd({}), a_group("g", 9, min_count=2, conditions=conditions), *members]

    assert_in_proportion(world, 1000)


# --- members that come, are bound and go together ------------------------------------------------


def open_plan() -> list[KubernetesObject]:
    """A pod is to be evicted for another; the calls for it are never answered."""
    old = a_pod("old", cpu="4", on="busy")
    new = a_pod("new", cpu="4", priority=9, nodeSelector={"host": "busy"})
    return [a_node("busy", labels={"host": "busy"}), old, new]


def life_of(group: list[PodGroup], count: int, *before: KubernetesObject) -> Batches:
    """Members of a group arrive in one batch, are bound where they fit, and are gone in one batch."""
    nodes = [a_node(f"n{i}", cpu=str(count), pods=str(count)) for i in range(2)]
    members = [a_member(f"m{i}", cpu="1") for i in range(count)]
    batches: Batches = [[*map(Seen, nodes), *map(Seen, before), Synced()]]
    scheduler = Scheduler()
    scheduler.observe(batches[0], on_one_clock(0.0))
    while scheduler.decide(on_one_clock(0.0)) is not None:
        pass
    assert len(scheduler._state.plans) == (1 if before else 0)
    batches.append([*map(Seen, group), *map(Seen, members)])
    scheduler.observe(batches[1], on_one_clock(0.0))
    decided = scheduler.decide(on_one_clock(0.0))
    binds = [e for e in decided.effects if isinstance(e, Bind)] if decided is not None else []
    shown = {pod.metadata.name: pod for pod in members}
    batches += [
        [*map(Done, binds)],
        [Seen(bound(shown[bind.target.name], bind.node)) for bind in binds],
        [Gone(target(pod)) for pod in members],
    ]
    assert len(binds) in (0, count)
    return batches


@pytest.mark.parametrize("before", [(), tuple(open_plan())], ids=["in peace", "during an eviction"])
@pytest.mark.parametrize(
    "group",
    [
        pytest.param(lambda count: [a_group("g", min_count=count)], id="a gang"),
        pytest.param(lambda count: [a_group("g", min_count=2)], id="a gang with surplus members"),
        pytest.param(lambda count: [a_group("g")], id="a basic group"),
        pytest.param(lambda count: [a_group("g", min_count=count + 1)], id="a gang that is not complete"),
        pytest.param(lambda count: [], id="a group that does not exist"),
    ],
)
def test_members_that_arrive_together_cost_in_proportion(
    group: Callable[[int], list[PodGroup]], before: tuple[KubernetesObject, ...]
) -> None:
    assert_batches_in_proportion(lambda count: life_of(group(count), count, *before), 200)


def preemption_of_a_gang(count: int, *, whole: bool) -> Batches:
    """A gang runs, another one preempts it; all effects of a step are carried out, and seen, in one batch."""
    served = Served(Stage(Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE}))))
    scheduler, batches = served.stage.scheduler, Batches()

    def observed(*events: Event) -> list[Effect]:
        batches.append(list(events))
        effects = scheduler.observe(events, on_one_clock(0.0))
        while (decided := scheduler.decide(on_one_clock(0.0))) is not None:
            effects += decided.effects
        return effects

    def carried_out(effects: list[Effect]) -> None:
        while effects:
            effects = observed(*(e for effect in effects for e in (Done(effect), *served.applied(effect))))
            left = [pod for pod, thing in served.objects.items() if thing.metadata.deletion_timestamp]
            for pod in left:
                del served.objects[pod]
            effects += observed(*map(Gone, left))

    nodes = [a_node(f"n{i}", cpu=str(count), pods=str(10 * count)) for i in range(2)]
    observed(*map(Seen, nodes), Synced())
    for name, priority in (("old", 0), ("new", 9)):
        spec = {"disruptedWhole": True} if whole else {}
        members = [a_member(f"{name}-{i}", name, cpu="2", priority=priority) for i in range(count)]
        things: list[KubernetesObject] = [a_group(name, priority, min_count=count, **spec), *members]
        served.objects.update((target(thing), thing) for thing in things)
        carried_out(observed(*map(Seen, things)))
    assert {thing.metadata.name[:3] for thing in served.pods() if thing.spec.node_name} == {"new"}
    return batches


@pytest.mark.parametrize("whole", [False, True], ids=["pod by pod", "as a whole"])
def test_a_gang_that_preempts_a_gang_costs_in_proportion(whole: bool) -> None:
    assert_batches_in_proportion(partial(preemption_of_a_gang, whole=whole), 120)


# --- beyond the bounds ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTS)
def test_a_pod_beyond_a_bound_waits_and_stops_nothing(name: str) -> None:
    fields, most = LISTS[name]
    stage = stage_with(a_node(), a_pod("odd", **fields(most + 1), priority=9), a_pod("p"))
    effects = stage.take()
    assert {e.target.name for e in effects if type(e).__name__ == "Bind"} == {"p"}
    told = [note for note in notes(effects) if "at most" in note]
    assert told
    assert all(f"{most + 1} " in note and f"at most {most} are supported" in note for note in told)


@pytest.mark.parametrize("name", LISTS)
def test_a_pod_at_a_bound_is_not_malformed(name: str) -> None:
    fields, most = LISTS[name]
    stage = stage_with(a_node(), a_pod("large", **fields(most)))
    assert not any("at most" in note for note in notes(stage.take()))


def test_a_running_pod_beyond_a_bound_counts_as_load() -> None:
    node = a_node(cpu="4")
    stage = stage_with(node, a_pod("odd", **with_ports(20_000), on="n1"), a_pod("p", cpu="2"))
    assert stage.binds() == {}
    (odd,) = (
        c for c in stage.scheduler._state.world.snapshot().pods.compiled if c.pod.metadata.name == "odd"
    )
    assert len(odd.shape.ports) == bounds.MOST_PORTS


def test_the_event_names_the_container() -> None:
    stage = stage_with(a_node(), a_pod("odd", **with_ports(20_000)))
    message = "spec.containers[0].ports: 20000 host ports, at most 1000 are supported by this scheduler"
    assert all(message in note for note in notes(stage.take()))
