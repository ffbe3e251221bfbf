"""Every combination of the gates about groups, run to its end: which pod runs where, what is still stored."""

import itertools
from collections.abc import Iterator

import pytest
from tests.unit.config import configuration
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, target
from tests.unit.scheduler.serving import Served, served

from reprieve.assembly.scheduler_settings import settings_of
from reprieve.config import Gates, InvalidConfigurationError, parse_feature_gates
from reprieve.model.objects import (
    CompositePodGroup,
    KubernetesObject,
    ObjectMeta,
    PodGroup,
    PodGroupSpec,
    PriorityClass,
)

NAMES = (
    "GenericWorkload",
    "GangScheduling",
    "WorkloadAwarePreemption",
    "PodGroupPreemptionPolicy",
    "TopologyAwareWorkloadScheduling",
    "CompositePodGroup",
)


def combinations() -> Iterator[Gates]:
    for values in itertools.product((True, False), repeat=len(NAMES)):
        text = ",".join(f"{name}={value}" for name, value in zip(NAMES, values, strict=True))
        try:
            yield parse_feature_gates(text)
        except InvalidConfigurationError:
            continue  # something is on that needs what is off


ALL = list(combinations())
FIELDS: tuple[str, ...] = Gates.__struct_fields__[: len(NAMES)]
EVERY = pytest.mark.parametrize("gates", ALL, ids=lambda g: "".join("+-"[not getattr(g, n)] for n in FIELDS))


def run(gates: Gates, *things: KubernetesObject) -> Served:
    """Everything comes true, and an hour passes; groups are stored as they were."""
    cluster = served(*things, settings=settings_of(configuration(), gates)).comes_true()
    cluster.stage.after(3600.0)
    cluster.comes_true()
    for group in things:
        if isinstance(group, PodGroup):
            stored = cluster.objects[target(group)]
            assert isinstance(stored, PodGroup)
            assert stored.spec == group.spec
    return cluster


def test_there_are_nineteen() -> None:
    """Nothing about groups; or three ways to schedule them, the field or not, and three of topology."""
    assert len(ALL) == 1 + 3 * 2 * 3


def gang(**spec: object) -> list[KubernetesObject]:
    """Two pods of which each needs most of a node."""
    return [a_group("g", 9, 2, **spec), *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(2))]


@EVERY
def test_a_gang_of_which_half_fits(gates: Gates) -> None:
    places = run(gates, a_node("n1"), *gang()).places()
    assert len(places) == (0 if gates.gang_scheduling else 1)


@EVERY
def test_a_gang_that_must_preempt(gates: Gates) -> None:
    old = [a_pod(f"old-{i}", cpu="3", on=f"n{i}") for i in (1, 2)]
    places = run(gates, a_node("n1"), a_node("n2"), *old, *gang()).places()
    assert places.keys() == {"g-0", "g-1"}, "as one, or each for itself"


@EVERY
def test_half_of_a_gang_may_preempt_only_where_there_are_no_gangs(gates: Gates) -> None:
    old = [a_pod("old", cpu="3", on="n1"), a_pod("dear", cpu="3", priority=50, on="n2")]
    places = run(gates, a_node("n1"), a_node("n2"), *old, *gang()).places()
    assert ("old" in places) is gates.gang_scheduling


@EVERY
def test_a_group_that_goes_whole(gates: Gates) -> None:
    train = [a_member(f"t-{i}", "train", cpu="3", on=f"n{i}") for i in (1, 2)]
    whole = a_group("train", 0, disruptedWhole=True)
    cluster = run(gates, a_node("n1"), a_node("n2"), whole, *train, a_pod("new", cpu="3", priority=9))
    assert len(cluster.places()) == (1 if gates.workload_aware_preemption else 2)


@EVERY
def test_a_group_that_is_dearer_than_its_pods(gates: Gates) -> None:
    dear, cheap = a_group("dear", 50), a_member("d-0", "dear", cpu="3", on="n1")
    places = run(gates, a_node("n1"), dear, cheap, a_pod("new", cpu="3", priority=9)).places()
    assert places == ({"d-0": "n1"} if gates.workload_aware_preemption else {"new": "n1"})


@EVERY
def test_a_gang_in_one_rack(gates: Gates) -> None:
    racks = [a_node(f"n{i}", labels={"rack": f"r{i}"}) for i in (1, 2)]
    places = run(gates, *racks, *gang(topologyKey="rack")).places()
    together = gates.gang_scheduling and gates.topology_aware_workload_scheduling
    assert len(places) == (0 if together else 2)


@EVERY
def test_a_group_in_a_dear_tree(gates: Gates) -> None:
    meta = ObjectMeta(namespace="default", name="tree", uid="uid-tree", resource_version="1")
    tree = CompositePodGroup(metadata=meta, spec=PodGroupSpec(priority=50))
    member = a_member("m", "leaf", cpu="3", on="n1")
    leaf = a_group("leaf", 0, parent="tree")
    places = run(gates, a_node("n1"), tree, leaf, member, a_pod("new", cpu="3", priority=9)).places()
    protected = gates.workload_aware_preemption and gates.composite_pod_group
    assert places == ({"m": "n1"} if protected else {"new": "n1"})


@EVERY
@pytest.mark.parametrize("who", ["field", "class", "pods"])
def test_a_pod_that_says_that_a_gang_never_preempts(gates: Gates, who: str) -> None:
    meta = ObjectMeta(name="shy", uid="uid-shy")
    shy = PriorityClass(metadata=meta, value=9, preemption_policy="Never")
    spec = {"field": {"preemptionPolicy": "Never"}, "class": {"priorityClassName": "shy"}}.get(who, {})
    own = {"preemptionPolicy": "Never"} if who == "pods" else {}
    group = a_group("g", 9, 2, **spec)
    pods = [a_member(f"g-{i}", cpu="3", priority=9, **own) for i in range(2)]
    old = [a_pod(f"old-{i}", cpu="3", on=f"n{i}") for i in (1, 2)]
    places = run(gates, shy, a_node("n1"), a_node("n2"), *old, group, *pods).places()
    counts = {
        "field": gates.gang_scheduling and gates.pod_group_preemption_policy,
        "class": gates.gang_scheduling,
        "pods": True,
    }
    assert (places.keys() == {"old-1", "old-2"}) is counts[who]
