"""Strategic merge patch: lists with merge keys, and directives."""

import pytest

from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.patches import merge_strategically


def merged(old: Json, patch: Json, kind: str = "Pod") -> Json:
    return merge_strategically(BY_NAME[kind], old, patch)


def containers(*names: str) -> list[Json]:
    return [{"name": name, "image": "old"} for name in names]


def names(body: Json) -> list[str]:
    return [item["name"] for item in body["spec"]["containers"]]


def test_items_are_merged_by_name_and_added() -> None:
    old = {"spec": {"containers": containers("a", "b")}}
    patch = {"spec": {"containers": [{"name": "b", "tty": True}, {"name": "c"}]}}
    assert merged(old, patch)["spec"]["containers"] == [
        {"name": "a", "image": "old"},
        {"name": "b", "image": "old", "tty": True},
        {"name": "c"},
    ]
    assert names(old) == ["a", "b"]


def test_without_an_order_what_is_new_comes_first() -> None:
    old = {"spec": {"containers": containers("a", "b")}}
    assert names(merged(old, {"spec": {"containers": [{"name": "c"}]}})) == ["c", "a", "b"]


def test_what_is_not_there_need_not_be_emptied() -> None:
    assert merged({"spec": {}}, {"spec": {"affinity": {"$patch": "delete"}}}) == {"spec": {}}


def test_lists_within_items() -> None:
    old = {
        "spec": {
            "containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}]
        }
    }
    env = [{"name": "Y", "value": "3"}, {"name": "X", "$patch": "delete"}]
    patch = {"spec": {"containers": [{"name": "a", "env": env}]}}
    assert merged(old, patch)["spec"]["containers"][0]["env"] == [{"name": "Y", "value": "3"}]


def test_an_item_is_deleted() -> None:
    old = {"spec": {"containers": containers("a", "b")}}
    assert names(merged(old, {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}})) == ["b"]


def test_a_list_is_replaced() -> None:
    old = {"spec": {"containers": containers("a", "b")}}
    assert names(merged(old, {"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}})) == ["c"]


def test_an_object_is_replaced_or_emptied() -> None:
    old = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    assert merged(old, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}) == {
        "metadata": {"labels": {"c": "3"}}
    }
    assert merged(old, {"metadata": {"labels": {"$patch": "delete"}}}) == {"metadata": {"labels": {}}}


def test_null_takes_away() -> None:
    assert merged({"spec": {"a": 1, "b": 2}}, {"spec": {"a": None}}) == {"spec": {"b": 2}}


def test_tolerations_are_replaced_as_a_whole() -> None:
    old = {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}
    assert merged(old, {"spec": {"tolerations": [{"key": "c"}]}})["spec"]["tolerations"] == [{"key": "c"}]


def test_plain_values_are_added_and_deleted() -> None:
    old = {"metadata": {"finalizers": ["a", "b"]}}
    assert merged(old, {"metadata": {"finalizers": ["b", "c"]}})["metadata"]["finalizers"] == ["a", "b", "c"]
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert merged(old, gone)["metadata"]["finalizers"] == ["b"]


def test_an_order_is_kept() -> None:
    old = {"spec": {"containers": containers("a", "server", "b", "c")}}
    order = [{"name": name} for name in ("c", "new", "a")]
    patch = {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "new"}]}}
    assert names(merged(old, patch)) == ["server", "b", "c", "new", "a"]
    only_order = {"spec": {"$setElementOrder/containers": [{"name": n} for n in "cba"]}}
    assert names(merged({"spec": {"containers": containers(*"abc")}}, only_order)) == ["c", "b", "a"]


def test_only_some_keys_are_retained() -> None:
    old = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert merged(old, patch, "Deployment") == {"spec": {"strategy": {"type": "Recreate"}}}


def test_no_directive_is_ever_stored() -> None:
    patch = {"spec": {"new": {"$patch": "merge", "a": [{"$patch": "merge", "b": 1}], "c": None}}}
    assert merged({}, patch) == {"spec": {"new": {"a": [{"b": 1}]}}}


def test_two_ports_of_one_number_survive() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    old = {"spec": {"containers": [{"name": "dns", "ports": ports}]}}
    patch = {"spec": {"containers": [{"name": "dns", "ports": [{"containerPort": 80}]}]}}
    assert len(merged(old, patch)["spec"]["containers"][0]["ports"]) == 3


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ({"spec": {"containers": [{"image": "x"}]}}, 422),
        ({"spec": {"containers": ["x"]}}, 422),
        ({"spec": {"$patch": "dance"}}, 400),
        ({"spec": {"$retainKeys": "a"}}, 400),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}, 400),
        ({"spec": {"$setElementOrder/containers": "a", "containers": [{"name": "a"}]}}, 400),
    ],
)
def test_what_cannot_be_applied(patch: Json, status: int) -> None:
    old = {"spec": {"containers": containers("a")}, "metadata": {"finalizers": ["a"]}}
    with pytest.raises(ApiError) as error:
        merged(old, patch)
    assert error.value.status == status


def test_a_budget_gets_a_whole_new_selector() -> None:
    old = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "2"}}}}
    assert merged(old, patch, "PodDisruptionBudget") == patch
    assert merged(old, patch, "Deployment")["spec"]["selector"]["matchLabels"] == {"a": "1", "b": "2"}
