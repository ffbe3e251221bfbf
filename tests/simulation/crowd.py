"""Crowded clusters, drawn from a seed: pods and gangs of several priorities, more than there is room for."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from tests.minicluster.faulty_cluster import FaultPlan, FaultyCluster, WatchFault, everything

from reprieve.model.json import Json
from reprieve.preemption.searches import PRIORITY_CEILING
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from reprieve.preemption.units import pods_alone
from reprieve.scheduler.demand_key import by_itself
from reprieve.scheduler.demands.gang_strategy import ALL_MEMBERS, POD_BY_POD
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve_minicluster.virtual_time import EPOCH
from tests.reference.policies import UPSTREAM
from tests.simulation.acts import (
    Act,
    Apply,
    BindElsewhere,
    Cordon,
    DeleteGroup,
    DeletePod,
    DeletePreemptor,
    Detain,
    Disconnect,
    JoinGroup,
    LoseNode,
    ReplacePod,
    ReplaceVictim,
    Restart,
    RestartServer,
    SetClock,
    ShrinkBudget,
    SpoilPod,
)
from tests.simulation.objects import (
    DRIVER,
    a_group,
    alone,
    claim,
    csi_node,
    deployment,
    foreign_node,
    node,
    pod,
    pod_spec,
    storage_class,
    volumes,
)
from tests.simulation.scenario import FOREIGN, TROUBLED_SECONDS, USUAL, Scenario
from tests.simulation.unreliable import UnreliableConnection

PRIORITIES = (0, 5, 10, 20)


def _with(settings: Settings, **policy: Any) -> Settings:
    policies = {name: replace(one, **policy) for name, one in settings.policies.items()}
    return replace(settings, policies=policies)


SETTINGS = (
    USUAL,
    replace(USUAL, gangs=ALL_MEMBERS),
    replace(USUAL, gangs=POD_BY_POD),
    replace(USUAL, policies={SCHEDULER_NAME: UPSTREAM}),
    _with(USUAL, search=PRIORITY_CEILING, patience=None),
    _with(USUAL, breaks_no_budget=True),
    replace(_with(USUAL, units=pods_alone), demand_of_pod=by_itself),
)


def settings_of(seed: int) -> Settings:
    """Most clusters are scheduled in the usual way; some schedulers have little patience, or much."""
    rng = Random(f"settings {seed}")
    settings = rng.choices(SETTINGS, weights=(6, 1, 1, 1, 1, 1, 1))[0]
    settings = replace(settings, stuck_victim_seconds=rng.choice((15.0, 300.0)))
    patient = any(policy.patience for policy in settings.policies.values())
    return (
        _with(settings, patience=rng.choice((0.0, 5.0, 20.0)))
        if patient and not rng.randrange(5)
        else settings
    )


def connection_of(seed: int, cluster: FaultyCluster) -> UnreliableConnection:
    return UnreliableConnection(cluster, seed, EPOCH + TROUBLED_SECONDS)


def crowd(seed: int) -> Scenario:
    rng = Random(f"crowd {seed}")
    names = [f"n{i}" for i in range(rng.randint(1, 4))]
    nodes = [
        thing for i, name in enumerate(names) for thing in (node(name, f"z{i % 2}", cpu=4), csi_node(name))
    ]
    beginning = Apply((*nodes, foreign_node(FOREIGN), storage_class("made", DRIVER), *_budgets(rng)))
    troubles = [(0.0, beginning), *_arrivals(rng), *_mishaps(rng, names)]
    return _meddled(_tolerant(_packed(Scenario(seed, _faults(rng, seed), tuple(troubles), ()))))


def crowd_with_jumps(seed: int) -> Scenario:
    """The same crowd, and the clock of the scheduler's machine is set both ways."""
    scenario, rng = crowd(seed), Random(f"jumps {seed}")
    seconds = [rng.choice((1.0, -1.0)) * rng.choice(_JUMPS) for _ in range(rng.randrange(3))]
    seconds += [rng.choice(_JUMPS), -rng.choice(_JUMPS)]
    jumps = [(rng.uniform(0, TROUBLED_SECONDS), SetClock(one)) for one in seconds]
    return replace(scenario, troubles=(*scenario.troubles, *jumps))


_JUMPS = (5.0, 40.0, 3600.0)


def _faults(rng: Random, seed: int) -> FaultPlan:
    return replace(
        everything(seed, rate=rng.choice((0.0, 0.0, 0.02, 0.07)), until=EPOCH + TROUBLED_SECONDS),
        late_seconds=rng.choice((0.5, 2.0, 20.0)),
        reconnect_seconds=rng.choice((0.0, 1.0, 15.0)),
        timeout_seconds=rng.choice((0.1, 1.0, 5.0)),
    )


# --- newcomers -----------------------------------------------------------------------------------


def _budgets(rng: Random) -> Iterator[Json]:
    for app in ("a", "b"):
        if rng.random() < 0.5:
            spec = {"minAvailable": rng.randint(0, 2), "selector": {"matchLabels": {"app": app}}}
            meta = {"name": app, "namespace": "default"}
            yield {"kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def _arrivals(rng: Random) -> Iterator[tuple[float, Act]]:
    for i in range(rng.choice((5, 10, 20))):
        make = rng.choices((_bare, _gang, _service), weights=(4, 4, 1))[0]
        at = rng.choice((0.0, rng.uniform(0, TROUBLED_SECONDS)))
        for late, thing in make(rng, f"w{i}"):
            yield at + late, Apply((thing,))


def _spec(rng: Random, **more: object) -> Json:
    drain = rng.choice((0, 3, 10))
    return pod_spec(rng.choice(("1", "2", "3", "4")), terminationGracePeriodSeconds=drain, **more)


def _bare(rng: Random, name: str) -> Iterator[tuple[float, Json]]:
    more: Json = {"priority": rng.choice(PRIORITIES)}
    labels = {"app": rng.choice("abc")}
    match rng.randrange(10):
        case 0:
            more["preemptionPolicy"] = "Never"
        case 1:
            more["affinity"], labels["alone"] = alone("x"), "x"
        case 2:
            yield 0.0, claim(f"{name}-data", "made")
            more["volumes"] = volumes(f"{name}-data")
    yield 0.0, pod(name, _spec(rng, **more), labels=labels)


def _service(rng: Random, name: str) -> Iterator[tuple[float, Json]]:
    """An evicted pod is created again."""
    yield 0.0, deployment(name, rng.randint(1, 3), _spec(rng, priority=0), {"app": rng.choice("ab")})


def _gang(rng: Random, name: str) -> Iterator[tuple[float, Json]]:
    """The group may come after its pods, its pods one after the other, and some never."""
    size, priority = rng.randint(1, 4), rng.choice(PRIORITIES)
    least = rng.randint(0, size + (rng.random() < 0.1))
    policy: Json = {"gang": {"minCount": least}} if least else {"basic": {}}
    mode = rng.choice(("all", "single"))
    yield rng.choice((0.0, 1.0)), a_group(name, priority, policy, mode)
    spec = _spec(rng, priority=priority, schedulingGroup={"podGroupName": name})
    for i in range(size):
        yield rng.choice((0.0, 0.0, rng.uniform(0, 5))), pod(f"{name}-{i}", spec)


# --- plans that take long to find ------------------------------------------------------------------


def _packed(scenario: Scenario) -> Scenario:
    """In every third cluster groups that go whole fill more nodes, and gangs come that need whole nodes.

    What they would cost on several nodes is not counted node by node, so that a solver is asked.
    """
    rng = Random(f"packed {scenario.seed}")
    if rng.randrange(3):
        return scenario
    nodes = Apply(tuple(node(f"m{i}", "z0", cpu=4) for i in range(4)))
    full = [thing for i in range(8) for thing in _whole_group(rng, f"low{i}")]
    gangs = [_gang_of_nodes(rng, f"top{i}", priority) for i, priority in enumerate((5, 10, 10, 20, 20))]
    return replace(scenario, troubles=(*scenario.troubles, (0.0, nodes), (0.0, Apply(tuple(full))), *gangs))


def _whole_group(rng: Random, name: str) -> Iterator[Json]:
    priority = rng.choice((0, 0, 5))
    yield a_group(name, priority, {"gang": {"minCount": 1}}, "all")
    for i in range(rng.randint(1, 3)):
        spec = pod_spec(
            rng.choice(("1", "1", "2", "3")),
            priority=priority,
            terminationGracePeriodSeconds=rng.choice((0, 3)),
            schedulingGroup={"podGroupName": name},
        )
        yield pod(f"{name}-{i}", spec)


def _gang_of_nodes(rng: Random, name: str, priority: int) -> tuple[float, Act]:
    spec = pod_spec(rng.choice(("3", "4", "4")), priority=priority, schedulingGroup={"podGroupName": name})
    members = [pod(f"{name}-{i}", spec) for i in range(rng.choice((2, 2, 3)))]
    group = a_group(name, priority, {"gang": {"minCount": len(members)}}, "single")
    return rng.uniform(5, TROUBLED_SECONDS), Apply((group, *members))


# --- protected pods ------------------------------------------------------------------------------

TOLERATIONS = {"brief": 7, "short": 25, "forever": -1}


def _tolerant(scenario: Scenario) -> Scenario:
    """In every third cluster most pods and groups tolerate preemption, by all but the highest priority."""
    rng = Random(f"tolerant {scenario.seed}")
    if rng.randrange(3):
        return scenario
    acts = [(at, _of_classes(rng, act) if isinstance(act, Apply) else act) for at, act in scenario.troubles]
    return replace(scenario, troubles=((0.0, Apply(tuple(_classes()))), *acts))


def _classes() -> Iterator[Json]:
    for name, seconds in TOLERATIONS.items():
        annotations = {MINIMUM_PRIORITY: str(PRIORITIES[-1]), SECONDS: str(seconds)}
        yield {"kind": "PriorityClass", "metadata": {"name": name, "annotations": annotations}, "value": 0}


def _of_classes(rng: Random, act: Apply) -> Apply:
    """Classes of that kind have a lower value than their pods; it is not looked at."""
    names = [rng.choice(("", *TOLERATIONS)) for _ in act.objects]
    return Apply(tuple(map(_of_class, act.objects, names)))


def _of_class(thing: Json, name: str) -> Json:
    if thing["kind"] not in ("Pod", "PodGroup"):
        return thing
    return {**thing, "spec": {**thing["spec"], "priorityClassName": name}}


# --- what happens to plans -----------------------------------------------------------------------


def _meddled(scenario: Scenario) -> Scenario:
    """In every second cluster groups grow, preemptors vanish and budgets shrink while plans run."""
    rng = Random(f"meddled {scenario.seed}")
    if rng.randrange(2):
        return scenario
    number = rng.choice((1, 3, 6))
    acts = [(rng.uniform(0, TROUBLED_SECONDS), rng.choice(_MEDDLING)(rng)) for _ in range(number)]
    return replace(scenario, troubles=(*scenario.troubles, *acts))


_MEDDLING: tuple[Callable[[Random], Act], ...] = (
    lambda rng: JoinGroup(rng.uniform(5, 30), rng.random() < 0.3, rng.choice((FOREIGN, FOREIGN, ""))),
    lambda rng: DeletePreemptor(rng.uniform(5, 30), rng.random() < 0.6),
    lambda rng: ShrinkBudget(rng.choice("ab"), rng.uniform(5, 30), rng.uniform(5, 20)),
)


# --- what goes wrong -----------------------------------------------------------------------------


def _mishaps(rng: Random, nodes: list[str]) -> Iterator[tuple[float, Act]]:
    for _ in range(rng.choice((0, 3, 8))):
        yield rng.uniform(0, TROUBLED_SECONDS), rng.choice(_MISHAPS)(rng, rng.choice(nodes))


_MISHAPS: tuple[Callable[[Random, str], Act], ...] = (
    lambda rng, name: LoseNode(name, rng.uniform(0, 20)),
    lambda rng, name: Cordon(name, rng.uniform(0, 20)),
    lambda rng, name: DeletePod(rng.randrange(100), rng.choice((None, 0, 3))),
    lambda rng, name: Disconnect(rng.choice((WatchFault.DROP, WatchFault.RELIST, WatchFault.STALE))),
    lambda rng, name: Restart(rng.choice((0.0, rng.uniform(0, 5)))),
    lambda rng, name: SpoilPod(rng.randrange(100), rng.uniform(0, 10)),
    lambda rng, name: ReplacePod(f"w{rng.randrange(20)}", rng.choice(("1", "3"))),
    lambda rng, name: BindElsewhere(rng.randrange(100), FOREIGN),
    lambda rng, name: DeleteGroup(f"w{rng.randrange(20)}"),
    lambda rng, name: ReplaceVictim(rng.uniform(0, 20), rng.choice(("1", "3"))),
    lambda rng, name: Detain(rng.randrange(100), rng.uniform(0, 50)),
    lambda rng, name: RestartServer(rng.choice((0.5, rng.uniform(0, 15)))),
    lambda rng, name: SetClock(rng.choice((-3600.0, -5.0, 5.0, 40.0, 3600.0))),
)
