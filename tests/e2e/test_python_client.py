"""The official Python client against the mini cluster.

It checks what it gets: an answer that lacks what Kubernetes always has is an error.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

from tests.e2e.up import cluster_up, deployment, pod

NAMESPACE = "default"


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """Without a scheduler: these tests bind pods themselves."""
    with cluster_up("--nodes", "2", "--scheduler", "none") as path:
        yield path


@pytest.fixture
def core(kubeconfig: Path) -> Iterator[Any]:
    api_client = config.new_client_from_config(str(kubeconfig))
    api = client.CoreV1Api(api_client)
    yield api
    api.delete_collection_namespaced_pod(NAMESPACE, grace_period_seconds=0)
    api_client.close()


def made(core: Any, name: str) -> Any:
    return core.create_namespaced_pod(NAMESPACE, pod(name))


def bound(core: Any, name: str, node: str = "cpu-0") -> None:
    target = client.V1ObjectReference(kind="Node", name=node)
    body = client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)
    # What comes back is a Status, and the client would take it for a Binding.
    core.create_namespaced_pod_binding(name, NAMESPACE, body, _preload_content=False)


def running(core: Any, name: str) -> None:
    for event in watch.Watch().stream(
        core.list_namespaced_pod, NAMESPACE, field_selector=f"metadata.name={name}", timeout_seconds=20
    ):
        if event["object"].status.phase == "Running":
            return
    raise AssertionError(f"{name} does not run")


def test_listing(core: Any) -> None:
    assert [node.metadata.name for node in core.list_node().items] == ["cpu-0", "cpu-1"]
    for name in "abc":
        made(core, name)
    page = core.list_namespaced_pod(NAMESPACE, limit=2)
    rest = core.list_namespaced_pod(NAMESPACE, limit=2, _continue=page.metadata._continue)
    assert [p.metadata.name for p in (*page.items, *rest.items)] == ["a", "b", "c"]
    assert [p.metadata.name for p in core.list_namespaced_pod(NAMESPACE, label_selector="app=b").items] == [
        "b"
    ]


def test_watching_and_going_on(core: Any) -> None:
    version = core.list_namespaced_pod(NAMESPACE).metadata.resource_version
    made(core, "a")
    first = watch.Watch()
    for event in first.stream(
        core.list_namespaced_pod, NAMESPACE, resource_version=version, timeout_seconds=20
    ):
        assert (event["type"], event["object"].metadata.name) == ("ADDED", "a")
        first.stop()
    made(core, "b")
    seen = []
    second = watch.Watch()
    for event in second.stream(
        core.list_namespaced_pod, NAMESPACE, resource_version=first.resource_version, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].metadata.name))
        second.stop()
    assert seen == [("ADDED", "b")]


def test_a_watch_from_too_long_ago(core: Any) -> None:
    with pytest.raises(ApiException) as error:
        for _ in watch.Watch().stream(
            core.list_namespaced_pod, NAMESPACE, resource_version="1000000000", timeout_seconds=20
        ):
            pass
    assert error.value.status == 410


def test_changing(core: Any) -> None:
    made(core, "a")
    changed = core.patch_namespaced_pod("a", NAMESPACE, {"metadata": {"labels": {"tier": "web"}}})
    assert changed.metadata.labels == {"app": "a", "tier": "web"}
    changed.metadata.labels = {"app": "other"}
    replaced = core.replace_namespaced_pod("a", NAMESPACE, changed)
    assert replaced.metadata.labels == {"app": "other"}
    with pytest.raises(ApiException) as error:
        core.replace_namespaced_pod("a", NAMESPACE, changed)
    assert (error.value.status, error.value.reason) == (409, "Conflict")


def test_what_is_refused(core: Any) -> None:
    with pytest.raises(ApiException) as error:
        core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "a"}, "spec": {"containers": []}})
    assert error.value.status == 422
    assert "spec.containers" in error.value.body


def test_binding_evicting_and_deleting(core: Any) -> None:
    made(core, "a")
    bound(core, "a")
    running(core, "a")
    eviction = client.V1Eviction(
        metadata=client.V1ObjectMeta(name="a"),
        delete_options=client.V1DeleteOptions(grace_period_seconds=600),
    )
    core.create_namespaced_pod_eviction("a", NAMESPACE, eviction, _preload_content=False)
    leaving = core.read_namespaced_pod("a", NAMESPACE)
    assert leaving.metadata.deletion_grace_period_seconds == 600
    made(core, "b")
    core.delete_namespaced_pod("b", NAMESPACE)
    with pytest.raises(ApiException) as error:
        core.read_namespaced_pod("b", NAMESPACE)
    assert error.value.status == 404


def test_an_eviction_that_a_budget_forbids(core: Any) -> None:
    made(core, "a")
    bound(core, "a")
    running(core, "a")
    policy = client.PolicyV1Api(core.api_client)
    spec = client.V1PodDisruptionBudgetSpec(
        min_available=1, selector=client.V1LabelSelector(match_labels={"app": "a"})
    )
    budget = client.V1PodDisruptionBudget(metadata=client.V1ObjectMeta(name="a"), spec=spec)
    policy.create_namespaced_pod_disruption_budget(NAMESPACE, budget)
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="a"))
    with pytest.raises(ApiException) as error:
        core.create_namespaced_pod_eviction("a", NAMESPACE, eviction, _preload_content=False)
    assert error.value.status == 429
    policy.delete_namespaced_pod_disruption_budget("a", NAMESPACE)


def test_all_kinds_are_what_the_client_expects(core: Any) -> None:
    """Whatever controllers and kubelets have written meanwhile."""
    apps, batch = client.AppsV1Api(core.api_client), client.BatchV1Api(core.api_client)
    apps.create_namespaced_deployment(NAMESPACE, deployment("web", replicas=1))
    template = {"spec": {**pod("j")["spec"], "restartPolicy": "Never"}}
    batch.create_namespaced_job(NAMESPACE, {"metadata": {"name": "j"}, "spec": {"template": template}})
    group = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}
    scheduling = client.SchedulingV1beta1Api(core.api_client)
    scheduling.create_namespaced_pod_group(NAMESPACE, group)
    for event in watch.Watch().stream(core.list_namespaced_pod, NAMESPACE, timeout_seconds=20):
        bound(core, event["object"].metadata.name)
        break
    assert apps.list_namespaced_deployment(NAMESPACE).items[0].metadata.name == "web"
    assert len(apps.list_namespaced_replica_set(NAMESPACE).items) == 1
    assert batch.list_namespaced_job(NAMESPACE).items[0].spec.parallelism == 1
    assert scheduling.list_namespaced_pod_group(NAMESPACE).items[0].spec.scheduling_policy.gang.min_count == 1
    assert core.list_namespace().items
    assert client.SchedulingV1Api(core.api_client).list_priority_class().items
    apps.delete_namespaced_deployment("web", NAMESPACE)
    batch.delete_namespaced_job("j", NAMESPACE, propagation_policy="Background")
