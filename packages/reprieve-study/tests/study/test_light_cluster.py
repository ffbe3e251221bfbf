"""What the light cluster shows at once, and what it keeps until there is news."""

from collections.abc import Iterable

from reprieve.model.effects import Bind, Evict, Nominate
from reprieve.model.events import Done, Event, Gone, Seen
from reprieve.model.objects import Pod
from reprieve_study.agenda import Agenda
from reprieve_study.job import Job, target_of, template_of
from reprieve_study.light_cluster import LightCluster
from reprieve_study.node_pools import pool

NOW = 1000.0


def a_pod(name: str, gang: int = 0) -> Pod:
    return template_of(Job(name="job", arrival=0, duration=60, gang=gang), "reprieve").pod(name, NOW)


def cluster_with(pods: Iterable[Pod]) -> LightCluster:
    cluster = LightCluster(pool("gpu8x1"), Agenda())
    cluster.advance(NOW)
    for pod in pods:
        cluster.create(pod)
    assert cluster.has_news
    cluster.taken()
    return cluster


def bind(cluster: LightCluster, pod: Pod) -> None:
    cluster.perform([Bind(target_of(pod), "gpu8-0")])


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


def test_where_no_pod_waits_a_bind_a_start_and_an_end_wait_for_the_next_arrival() -> None:
    pod = a_pod("a")
    cluster = cluster_with([pod])
    bind(cluster, pod)
    cluster.advance(NOW + 10)
    assert not cluster.has_news
    cluster.finish("a")
    assert not cluster.has_news
    cluster.create(a_pod("b"))
    assert cluster.has_news
    seen, *others = cluster.taken()
    assert isinstance(seen, Seen)
    assert isinstance(seen.object, Pod)
    assert seen.object.status.phase == "Running"  # one sight, of the latest version
    assert kinds(others) == [Done, Gone, Seen]


def test_while_a_pod_waits_everything_is_news() -> None:
    pod = a_pod("a")
    cluster = cluster_with([pod, a_pod("waits")])
    bind(cluster, pod)
    assert cluster.has_news
    cluster.taken()
    cluster.advance(NOW + 10)
    assert cluster.has_news


def test_a_pod_of_a_group_is_always_news() -> None:
    pod = a_pod("a", gang=1)
    cluster = cluster_with([pod])
    bind(cluster, pod)
    assert cluster.has_news


def test_a_preemptor_that_is_bound_is_news() -> None:
    pod = a_pod("a")
    cluster = cluster_with([pod])
    cluster.perform([Nominate(target_of(pod), "gpu8-0")])
    cluster.taken()
    bind(cluster, pod)
    assert cluster.has_news


def test_an_eviction_is_news_until_the_pod_is_gone() -> None:
    pod = a_pod("a")
    cluster = cluster_with([pod])
    bind(cluster, pod)
    cluster.advance(NOW + 10)
    cluster.perform([Evict(target_of(pod))])
    assert cluster.has_news
    cluster.taken()
    cluster.advance(NOW + 60)
    assert cluster.has_news
    assert kinds(cluster.taken()) == [Gone]
