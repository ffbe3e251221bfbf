"""The rules of writing: versions, conflicts, preconditions, the status subresource, graceful deletion."""

from collections.abc import Callable

import pytest
from tests.minicluster.scene import HandClock, pod, pod_key

from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import Key, Part, Store, parsed

MAP = Key("configmaps", "default", "m")


@pytest.fixture
def store() -> Store:
    return Store(HandClock())


def config_map(**meta: object) -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": "m", **meta}, "data": {"a": "1"}}


def refusal(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.status, error.value.reason


# --- creating and reading ------------------------------------------------------------------------


def test_a_new_object_is_stamped(store: Store) -> None:
    made = store.create("pods", pod("a"))
    body = parsed(made)
    meta = body["metadata"]
    assert (meta["namespace"], meta["generation"], meta["resourceVersion"]) == ("default", 1, "1")
    assert meta["creationTimestamp"] == "2026-01-01T12:00:00Z"
    assert meta["uid"] == made.uid
    assert (body["apiVersion"], body["status"]) == ("v1", {"phase": "Pending"})


def test_a_node_brings_its_status_along(store: Store) -> None:
    made = store.create("nodes", {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}})
    assert parsed(made)["status"] == {"allocatable": {"cpu": "4"}}
    assert "namespace" not in parsed(made)["metadata"]


def test_what_a_client_sends_is_not_altered(store: Store) -> None:
    body = pod("a")
    store.create("pods", body)
    assert body == pod("a")


def test_names_are_generated_and_two_stores_agree(store: Store) -> None:
    body = {"metadata": {"generateName": "web-"}}
    names = [store.create("pods", body).key.name for _ in range(300)]
    other = Store(HandClock())
    assert len(set(names)) == 300
    assert all(name.startswith("web-") and len(name) == 9 for name in names)
    assert names == [other.create("pods", body).key.name for _ in range(300)]


def test_versions_rise_over_all_types(store: Store) -> None:
    first, second = store.create("pods", pod("a")), store.create("configmaps", config_map())
    assert (first.version, second.version, store.version) == (1, 2, 2)
    assert first.uid != second.uid


def test_lists_are_in_order_and_by_namespace(store: Store) -> None:
    for namespace, name in (("b", "x"), ("a", "y"), ("a", "x")):
        store.create("pods", {"metadata": {"name": name, "namespace": namespace}})
    listing = store.list(("pods",))
    assert [(i.key.namespace, i.key.name) for i in listing.items] == [("a", "x"), ("a", "y"), ("b", "x")]
    assert [i.key.name for i in store.list(("pods",), "b").items] == ["x"]
    assert listing.version == 3


def test_the_past_can_be_listed(store: Store) -> None:
    old = store.create("configmaps", config_map())
    store.update("configmaps", {**config_map(), "data": {"a": "2"}})
    store.create("configmaps", {"metadata": {"name": "new"}})
    store.delete(MAP)
    assert store.list(("configmaps",), at=1).items == [old]
    assert [i.key.name for i in store.list(("configmaps",)).items] == ["new"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "metadata"),
        ({"metadata": {}}, "metadata.name"),
        ({"metadata": {"name": "a/b"}}, "metadata.name"),
        ({"metadata": {"name": 7}}, "metadata.name"),
        ({"metadata": {"name": "a", "namespace": []}}, "metadata.namespace"),
    ],
)
def test_what_cannot_be_named_is_refused(store: Store, body: Json, path: str) -> None:
    with pytest.raises(ApiError, match=path) as error:
        store.create("pods", body)
    assert refusal(error) == (422, "Invalid")
    assert store.version == 0


def test_what_is_not_there_is_not_found(store: Store) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.get(MAP),
        lambda: store.delete(MAP),
        lambda: store.update("configmaps", config_map()),
        lambda: store.create("unicorns", config_map()),
    ]
    for call in calls:
        with pytest.raises(ApiError) as error:
            call()
        assert refusal(error) == (404, "NotFound")


def test_a_name_is_taken_once(store: Store) -> None:
    store.create("configmaps", config_map())
    with pytest.raises(ApiError, match="already exists") as error:
        store.create("configmaps", config_map())
    assert refusal(error) == (409, "AlreadyExists")


# --- changing ------------------------------------------------------------------------------------


def test_a_stale_version_is_a_conflict(store: Store) -> None:
    first = store.create("configmaps", config_map())
    store.update("configmaps", {**config_map(resourceVersion=str(first.version)), "data": {"a": "2"}})
    with pytest.raises(ApiError, match="the object has been modified") as error:
        store.update("configmaps", config_map(resourceVersion=str(first.version)))
    assert refusal(error) == (409, "Conflict")
    store.update("configmaps", config_map())
    assert parsed(store.get(MAP))["data"] == {"a": "1"}


def test_another_uid_is_a_conflict(store: Store) -> None:
    store.create("configmaps", config_map())
    calls: list[Callable[[], object]] = [
        lambda: store.update("configmaps", config_map(uid="other")),
        lambda: store.patch(MAP, lambda body: body, Part.MAIN, uid="other"),
        lambda: store.delete(MAP, uid="other"),
    ]
    for call in calls:
        with pytest.raises(ApiError, match="UID in precondition: other") as error:
            call()
        assert refusal(error) == (409, "Conflict")


def test_what_the_server_owns_stays(store: Store) -> None:
    made = store.create("configmaps", config_map())
    changed = store.update("configmaps", config_map(labels={"a": "b"}, generation=99, creationTimestamp="x"))
    before, after = parsed(made)["metadata"], parsed(changed)["metadata"]
    assert after == {**before, "labels": {"a": "b"}, "resourceVersion": "2"}


def test_a_write_that_changes_nothing_is_none(store: Store) -> None:
    made = store.create("configmaps", config_map())
    assert store.update("configmaps", config_map()) == made
    assert store.version == 1


def test_the_status_is_apart(store: Store) -> None:
    made = parsed(store.create("pods", pod("a")))
    store.patch(pod_key("a"), lambda b: {**b, "status": {"phase": "Running"}, "spec": {}}, Part.STATUS)
    after_status = parsed(store.get(pod_key("a")))
    assert (after_status["status"], after_status["spec"]) == ({"phase": "Running"}, made["spec"])
    assert after_status["metadata"]["generation"] == 1

    store.update("pods", {**pod("a", cpu="2"), "status": {"phase": "Failed"}})
    after_spec = parsed(store.get(pod_key("a")))
    assert after_spec["status"] == {"phase": "Running"}
    assert after_spec["metadata"]["generation"] == 2


def test_labels_do_not_raise_the_generation(store: Store) -> None:
    store.create("pods", pod("a"))
    store.update("pods", pod("a", labels={"x": "y"}))
    assert parsed(store.get(pod_key("a")))["metadata"]["generation"] == 1


def test_some_kinds_have_no_generation(store: Store) -> None:
    made = store.create("configmaps", config_map())
    assert "generation" not in parsed(made)["metadata"]
    changed = store.update("configmaps", {**config_map(), "data": {}, "spec": {}})
    assert "generation" not in parsed(changed)["metadata"]


@pytest.mark.parametrize(("resource", "generation"), [("deployments.apps", 2), ("replicasets.apps", 1)])
def test_what_is_passed_on_raises_the_generation(store: Store, resource: str, generation: int) -> None:
    store.create(resource, {"metadata": {"name": "a"}})
    noted = store.update(resource, {"metadata": {"name": "a", "annotations": {"why": "because"}}})
    assert parsed(noted)["metadata"]["generation"] == generation


def test_managed_fields_of_clients_are_dropped(store: Store) -> None:
    made = store.create("configmaps", config_map(managedFields=[{"manager": "me"}], selfLink="/x"))
    assert {"managedFields", "selfLink"}.isdisjoint(parsed(made)["metadata"])


def test_a_patch_may_refuse(store: Store) -> None:
    store.create("configmaps", config_map())

    def refuse(body: Json) -> Json:
        body["data"] = {}
        raise ApiError(409, "Conflict", "no")

    with pytest.raises(ApiError):
        store.patch(MAP, refuse, Part.MAIN)
    assert parsed(store.get(MAP))["data"] == {"a": "1"}


# --- deleting ------------------------------------------------------------------------------------


def test_an_object_without_finalizers_goes_at_once(store: Store) -> None:
    store.create("configmaps", config_map())
    store.create("pods", pod("a"))
    assert store.delete(MAP) is None
    assert store.delete(pod_key("a")) is None
    assert store.list(("configmaps", "pods")).items == []


def test_finalizers_hold_an_object(store: Store) -> None:
    store.create("configmaps", config_map(finalizers=["example.com/hold"]))
    waiting = store.delete(MAP)
    assert waiting is not None
    assert parsed(waiting)["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:00Z"
    assert store.delete(MAP) == waiting
    store.update("configmaps", config_map(finalizers=[]))
    assert store.find(MAP) is None


def test_a_pod_on_a_node_waits_for_its_kubelet(store: Store) -> None:
    body = pod("a", on="n1")
    body["spec"]["terminationGracePeriodSeconds"] = 7
    store.create("pods", body)
    store.delete(pod_key("a"))
    meta = parsed(store.get(pod_key("a")))["metadata"]
    assert (meta["deletionGracePeriodSeconds"], meta["deletionTimestamp"]) == (7, "2026-01-01T12:00:07Z")
    assert store.delete(pod_key("a"), grace=0) is None


def test_a_second_delete_can_only_hurry(store: Store) -> None:
    store.create("pods", pod("a", on="n1"))
    store.delete(pod_key("a"))
    for asked, left in ((60, 30), (5, 5)):
        store.delete(pod_key("a"), grace=asked)
        meta = parsed(store.get(pod_key("a")))["metadata"]
        assert meta["deletionGracePeriodSeconds"] == left


def test_time_counts_from_the_first_deletion() -> None:
    clock = HandClock(1_000_000_000)
    store = Store(clock)
    store.create("pods", pod("a", on="n1"))
    store.delete(pod_key("a"), grace=60)
    clock.now += 20
    assert _deletion(store) == ("2001-09-09T01:47:40Z", 60)
    store.delete(pod_key("a"))
    assert _deletion(store) == ("2001-09-09T01:47:40Z", 60), "the pod's own 30 seconds were not asked for"
    store.delete(pod_key("a"), grace=50)
    assert _deletion(store) == ("2001-09-09T01:47:30Z", 50)
    store.delete(pod_key("a"), grace=10)
    assert _deletion(store) == ("2001-09-09T01:47:00Z", 1), "over, and still the kubelet's to end"
    assert store.delete(pod_key("a"), grace=0) is None


def _deletion(store: Store) -> tuple[str, int]:
    meta = parsed(store.get(pod_key("a")))["metadata"]
    return meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]


def test_a_pod_that_has_ended_needs_no_kubelet(store: Store) -> None:
    store.create("pods", pod("a", on="n1"))
    store.patch(pod_key("a"), lambda b: {**b, "status": {"phase": "Succeeded"}}, Part.STATUS)
    assert store.delete(pod_key("a")) is None


def test_the_kubelet_does_not_overrule_finalizers(store: Store) -> None:
    store.create("pods", pod("a", on="n1", finalizers=["example.com/hold"]))
    store.delete(pod_key("a"))
    store.delete(pod_key("a"), grace=0)
    assert store.find(pod_key("a")) is not None
    store.update("pods", pod("a", on="n1", finalizers=[]))
    assert store.find(pod_key("a")) is None
