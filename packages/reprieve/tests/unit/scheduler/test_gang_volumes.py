"""Pods of a gang with volumes: each sees what the ones before it have taken."""

from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_claim, a_class, a_local_class, a_node, a_pod, a_volume
from tests.unit.scheduler.serving import Served, served

from reprieve.model.effects import BindVolume, Evict, SelectNode
from reprieve.model.objects import KubernetesObject
from reprieve.scheduler.core import Scheduler

HOST = "kubernetes.io/hostname"
NODES = [a_node(name, labels={HOST: name}) for name in ("n1", "n2")]
CLAIMS = [a_claim(f"c{i}", "local") for i in range(2)]


def gang(*claims: str, cpu: str = "1") -> list[KubernetesObject]:
    """A pod for each claim; all have to start."""
    pods = [a_member(f"g-{i}", cpu=cpu, priority=9, claims=[claim]) for i, claim in enumerate(claims)]
    return [a_group("g", 9, len(pods)), *pods]


def promised(cluster: Served) -> dict[str, str]:
    """Volumes, and the claims that get them."""
    return {e.target.name: e.claim.name for e in cluster.stage.wanted if isinstance(e, BindVolume)}


def start(*things: KubernetesObject) -> Served:
    return served(*NODES, a_local_class(), *CLAIMS, *things, scheduler=Scheduler())


def test_two_get_two_volumes() -> None:
    cluster = start(*gang("c0", "c1"), a_volume("v0"), a_volume("v1"))
    assert cluster.outcomes() == ["Placed"]
    assert promised(cluster) == {"v0": "c0", "v1": "c1"}


def test_two_do_not_get_the_same_volume() -> None:
    cluster = start(*gang("c0", "c1"), a_volume("v0"))
    assert cluster.outcomes() == ["Unschedulable"]
    assert promised(cluster) == {}


def test_each_goes_where_a_volume_is_left() -> None:
    cluster = start(*gang("c0", "c1"), a_volume("v0", only_on="n1"), a_volume("v1", only_on="n2"))
    (decision,) = cluster.stage.decisions
    assert [node for _, node in decision.places] == ["n1", "n2"]


def test_two_that_share_a_claim_share_its_volume() -> None:
    """Wherever the first one goes, the volume is there."""
    cluster = start(*gang("c0", "c0"), a_volume("v0", only_on="n1"), a_volume("v1", only_on="n2"))
    (decision,) = cluster.stage.decisions
    assert len({node for _, node in decision.places}) == 1
    assert len(promised(cluster)) == 1


def test_a_volume_is_made_where_the_first_of_those_that_share_it_goes() -> None:
    things = [a_class(), a_claim("lazy"), *gang("lazy", "lazy", cpu="2")]
    cluster = served(*NODES, *things, scheduler=Scheduler())
    (decision,) = cluster.stage.decisions
    assert len({node for _, node in decision.places}) == 1
    assert [e.target.name for e in cluster.stage.wanted if isinstance(e, SelectNode)] == ["lazy"] * 2


def test_no_pod_is_evicted_for_a_gang_that_lacks_a_volume() -> None:
    full = [a_pod(f"old-{i}", cpu="4", on=f"n{i}") for i in (1, 2)]
    assert start(*full, *gang("c0", "c1"), a_volume("v0")).wanted(Evict) == []
    enough = start(*full, *gang("c0", "c1", cpu="3"), a_volume("v0"), a_volume("v1"))
    assert enough.outcomes() == ["Preempts"]
    assert sorted(victim.name for victim in enough.plan().victims) == ["old-1", "old-2"]
