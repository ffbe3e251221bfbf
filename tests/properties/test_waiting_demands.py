"""A waiting demand is reconsidered when a change would help it: pods and groups, with preemption.

A scheduler that starts afresh after the change shows which demands could go on. The first must have been
looked at by the one that was there all the time.
"""

import random
from collections.abc import Callable, Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.serving import Served, served

from reprieve.model.events import Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Node, Pod
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from tests.properties.vocabulary import ZONE, chance

SOON = 15.0  # longer than any backoff, and much shorter than the time after which every demand is retried

NEAR_WEB: Json = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WISHES: tuple[Json, ...] = (
    {},
    {},
    {"nodeSelector": {"disk": "ssd"}},
    {"affinity": {"podAffinity": {REQUIRED: [NEAR_WEB]}}},
    {"affinity": {"podAntiAffinity": {REQUIRED: [NEAR_WEB]}}},
)
TAINT = [{"key": "example.com/ill", "effect": "NoSchedule"}]


# --- a small cluster -----------------------------------------------------------------------------


def _node(rng: random.Random, name: str) -> Node:
    labels = {"disk": "ssd"} if chance(rng, 0.3) else {}
    zones = {ZONE: rng.choice(("a", "b"))} if chance(rng, 0.8) else {}
    troubles = rng.choice(({}, {}, {"taints": TAINT}, {"unschedulable": True}))
    return a_node(name, cpu=rng.choice(("2", "4")), labels=labels | zones, **troubles)


def _running(rng: random.Random, name: str, nodes: list[str]) -> Pod:
    labels = {"app": "web"} if chance(rng, 0.3) else {}
    cpu, priority = rng.choice(("1", "2")), rng.choice((0, 0, 9))
    return a_pod(name, cpu=cpu, priority=priority, on=rng.choice(nodes), labels=labels)


def _waiting(rng: random.Random) -> Iterator[KubernetesObject]:
    for i in range(rng.randint(1, 2)):
        yield a_pod(f"w{i}", cpu=rng.choice(("1", "2", "4")), priority=5, **rng.choice(WISHES))
    size = rng.randint(2, 3)
    within = {"topologyKey": ZONE} if chance(rng, 0.4) else {}
    yield a_group("g", 5, rng.choice((0, size - 1, size)), **within)
    for i in range(size):
        yield a_member(f"g-{i}", cpu=rng.choice(("1", "2")), priority=5, **rng.choice(WISHES))


def cluster_of(rng: random.Random) -> Served:
    nodes = [_node(rng, f"n{i}") for i in range(rng.randint(1, 3))]
    names = [node.metadata.name for node in nodes]
    running = [_running(rng, f"p{i}", names) for i in range(rng.randint(1, 5))]
    return served(*nodes, *running, *_waiting(rng))


# --- one thing changes ---------------------------------------------------------------------------


def _a_node_changes(rng: random.Random, cluster: Served) -> None:
    known = rng.choice([thing for thing in cluster.objects.values() if isinstance(thing, Node)])
    other = _node(rng, known.metadata.name)
    match rng.randrange(3):
        case 0:
            changed = later(known, labels=other.metadata.labels)
        case 1:
            changed = msgspec.structs.replace(later(known), spec=other.spec)
        case _:
            changed = msgspec.structs.replace(later(known), status=other.status)
    cluster.show(changed)


def _a_pod_goes(rng: random.Random, cluster: Served) -> None:
    running = sorted(pod.metadata.name for pod in cluster.pods() if pod.spec.node_name)
    if running:
        cluster.gone(rng.choice(running))


def _a_pod_comes(rng: random.Random, cluster: Served) -> None:
    nodes = sorted(thing.metadata.name for thing in cluster.objects.values() if isinstance(thing, Node))
    cluster.show(_running(rng, "late", nodes))


def _a_pod_is_relabelled(rng: random.Random, cluster: Served) -> None:
    running = [pod for pod in cluster.pods() if pod.spec.node_name]
    if running:
        cluster.show(later(rng.choice(running), labels=rng.choice(({}, {"app": "web"}))))


CHANGES: tuple[Callable[[random.Random, Served], None], ...] = (
    _a_node_changes,
    _a_node_changes,
    _a_pod_goes,
    _a_pod_goes,
    _a_pod_comes,
    _a_pod_is_relabelled,
)


# --- which demands could go on -------------------------------------------------------------------


def helped_first(cluster: Served) -> Decision | None:
    """The first decision of a scheduler that starts afresh by which anything gets better."""
    fresh, now = Scheduler(cluster.stage.scheduler._state.settings), cluster.stage.now
    fresh.observe([*map(Seen, cluster.objects.values()), Synced()], on_one_clock(now))
    while (decided := fresh.decide(on_one_clock(now))) is not None:
        if decided.decision.outcome in (Outcome.PLACED, Outcome.PREEMPTS):
            return decided.decision
    return None


@given(st.integers(0, 2**32 - 1))
def test_no_pod_sleeps_through_a_change_that_helps(seed: int) -> None:
    rng = random.Random(seed)
    cluster = cluster_of(rng).comes_true()
    cluster.stage.after(30.0)
    cluster.comes_true()
    for _ in range(3):
        before = len(cluster.stage.decisions)
        rng.choice(CHANGES)(rng, cluster)
        cluster.stage.after(SOON)
        helped = helped_first(cluster)
        looked_at = {decision.demand for decision in cluster.stage.decisions[before:]}
        assert helped is None or helped.demand in looked_at, helped.text
        cluster.comes_true().stage.after(SOON)
        cluster.comes_true()
