"""What happens in a simulated cluster, drawn from a seed: arrivals, mishaps, and how faulty everything is.

Its scheduler is set up as nobody configured it, unless a play draws other settings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.minicluster.faulty_cluster import FaultPlan, WatchFault, everything

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve_minicluster.virtual_time import EPOCH
from tests.simulation.acts import (
    Act,
    Apply,
    BindElsewhere,
    Cordon,
    DeletePod,
    Disconnect,
    Grow,
    LoseNode,
    OpenGate,
    ReplacePod,
    Restart,
    SpoilPod,
    Taint,
)
from tests.simulation.objects import (
    DRIVER,
    HOST,
    a_group,
    alone,
    claim,
    csi_node,
    deployment,
    foreign_node,
    job,
    local_volume,
    node,
    pod,
    pod_spec,
    spread,
    storage_class,
    volumes,
)

USUAL = settings_of(default_configuration(), EVERYTHING)
TROUBLED_SECONDS = 60.0  # then faults and mishaps end
FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    faults: FaultPlan
    troubles: tuple[tuple[float, Act], ...]  # by the seconds from the beginning
    aftermath: tuple[Act, ...]  # one after the other, when everything has come to rest


def scenario(seed: int) -> Scenario:
    rng = Random(seed)
    nodes = tuple(_nodes(rng))
    names = [thing["metadata"]["name"] for thing in nodes if thing["kind"] == "Node"]
    beginning = Apply((*nodes, foreign_node(FOREIGN), *_storage(names)))
    return Scenario(
        seed,
        _faults(rng, seed),
        ((0.0, beginning), *_arrivals(rng), *_mishaps(rng, names)),
        tuple(_mishap(rng, rng.choice(names)) for _ in range(rng.randrange(8))),
    )


def _faults(rng: Random, seed: int) -> FaultPlan:
    """Answers may be lost for longer or shorter than news are late: either may win the race."""
    return replace(
        everything(seed, rate=rng.choice((0.0, 0.02, 0.07, 0.14)), until=EPOCH + TROUBLED_SECONDS),
        late_seconds=rng.choice((0.5, 2.0, 20.0)),
        reconnect_seconds=rng.choice((0.0, 1.0, 15.0)),
        timeout_seconds=rng.choice((0.1, 1.0, 5.0, 30.0)),
    )


# --- the cluster ---------------------------------------------------------------------------------


def _nodes(rng: Random) -> Iterator[Json]:
    for i in range(rng.randint(2, 6)):
        yield node(f"n{i}", f"z{i % 3}", cpu=rng.choice((2, 4, 8)))
        yield csi_node(f"n{i}")


def _storage(nodes: list[str]) -> Iterator[Json]:
    yield storage_class("made", DRIVER)
    yield storage_class("local", "kubernetes.io/no-provisioner")
    for name in nodes:
        yield local_volume(f"disk-{name}", name)


# --- newcomers -----------------------------------------------------------------------------------


def _arrivals(rng: Random) -> Iterator[tuple[float, Act]]:
    for i in range(rng.choice((3, 6, 12, 25))):
        make = rng.choices(list(_MAKERS), weights=list(_MAKERS.values()))[0]
        objects = tuple(make(rng, f"w{i}"))
        at = rng.choice((0.0, rng.uniform(0, TROUBLED_SECONDS)))
        yield at, Apply(objects)
        for thing in objects:
            if thing["kind"] == "Pod" and "schedulingGates" in thing["spec"]:
                yield at + rng.uniform(0, 10), OpenGate(thing["metadata"]["name"])


def _cpu(rng: Random) -> str:
    return rng.choice(("0", "100m", "500m", "1", "1500m", "3"))


def _bare(rng: Random, name: str) -> Iterator[Json]:
    more: Json = {"priority": rng.choice((0, 0, 100))}
    if rng.random() < 0.2:
        more["host_port"] = rng.choice((80, 443))
    if rng.random() < 0.1:
        more["nodeSelector"] = {HOST: "n1"}
    if rng.random() < 0.1:
        more["schedulingGates"] = [{"name": "example.com/quota"}]
    yield pod(name, pod_spec(_cpu(rng), **more))


def _service(rng: Random, name: str) -> Iterator[Json]:
    labels: dict[str, str] = {"app": name}
    more: Json = {}
    match rng.randrange(3):
        case 0:
            labels["alone"] = name
            more["affinity"] = alone(name)
        case 1:
            more["topologySpreadConstraints"] = spread(name)
    yield deployment(name, rng.randint(1, 5), pod_spec(_cpu(rng), **more), labels)


def _work(rng: Random, name: str) -> Iterator[Json]:
    pods = rng.randint(1, 6)
    yield job(name, pods, rng.randint(1, pods), rng.randint(0, 20), pod_spec(_cpu(rng)))


def _stateful(rng: Random, name: str) -> Iterator[Json]:
    yield claim(f"{name}-data", rng.choice(("made", "local")))
    yield pod(name, pod_spec(_cpu(rng), volumes=volumes(f"{name}-data")))


def _gang(rng: Random, name: str) -> Iterator[Json]:
    size, priority = rng.randint(2, 4), rng.choice((0, 100))
    yield a_group(name, priority, {"gang": {"minCount": size}}, rng.choice(("all", "single")))
    for i in range(size):
        more = {"priority": priority, "schedulingGroup": {"podGroupName": name}}
        yield pod(f"{name}-{i}", pod_spec(rng.choice(("1", "2", "3")), **more))


_MAKERS: dict[Callable[[Random, str], Iterator[Json]], int] = {
    **{_bare: 5, _service: 2, _work: 2, _stateful: 2},
    _gang: 4,
}


# --- what goes wrong -----------------------------------------------------------------------------


def _mishaps(rng: Random, nodes: list[str]) -> Iterator[tuple[float, Act]]:
    for _ in range(rng.randrange(16)):
        yield rng.uniform(0, TROUBLED_SECONDS), _mishap(rng, rng.choice(nodes))


def _mishap(rng: Random, node: str) -> Act:
    which, soon = rng.randrange(100), rng.choice((0.0, 0.5, rng.uniform(0, 20)))
    choices: list[Act] = [
        LoseNode(node, soon),
        Cordon(node, soon),
        Taint(node, soon),
        Grow(node, rng.choice((8, 10))),
        DeletePod(which, rng.choice((None, 0, 3))),
        ReplacePod(f"w{rng.randrange(25)}", _cpu(rng)),
        SpoilPod(which, soon),
        BindElsewhere(which, FOREIGN),
        Disconnect(rng.choice((WatchFault.DROP, WatchFault.RELIST, WatchFault.STALE))),
        Restart(soon),
    ]
    return rng.choice(choices)
