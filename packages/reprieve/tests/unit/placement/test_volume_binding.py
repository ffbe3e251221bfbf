"""Which volumes are within reach, which a waiting claim gets, and where new ones are made."""

from typing import Any

import pytest
from tests.unit.placement.storage_objects import (
    CSI,
    LOCAL,
    ZONE,
    ask,
    bound,
    claim,
    csi_node,
    made,
    mount,
    node,
    on_host,
    pod,
    refused,
    storage_class,
    volume,
)

from reprieve.model.json import Json
from reprieve.model.objects import CSIDriver, CSIStorageCapacity, KubernetesObject, PersistentVolume
from reprieve.placement.constraints.volumes import Bindings, binding, bindings
from reprieve.placement.rejection_codes import Code

NONE_TO_BIND = (Code.NO_VOLUME_TO_BIND, "c", False)
NO_ROOM = (Code.STORAGE_CAPACITY, "c", False)
NOWHERE = {"a": [NONE_TO_BIND], "b": [NONE_TO_BIND]}
KEY = ("default", "c")


def in_zone(key: str, *zones: str) -> Json:
    expression = {"key": key, "operator": "In", "values": list(zones)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def bound_on(node_row: int, *objects: Any, mounts: tuple[str, ...] = ("c",)) -> Bindings:
    return bindings(ask(pod(*mount(*mounts)), *objects), node_row)


# --- bound claims --------------------------------------------------------------------------------


def test_a_bound_volume_must_be_within_reach() -> None:
    asked = ask(pod(*mount("c")), bound("c", to="pv"), volume("pv", phase="Bound", nodeAffinity=on_host("a")))
    assert refused(binding, asked) == {"b": [(Code.VOLUME_NODE_AFFINITY, "pv", False)]}


def test_the_names_of_nodes_are_not_looked_at() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
    by_name = {"required": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    asked = ask(pod(*mount("c")), bound("c", to="pv"), volume("pv", phase="Bound", nodeAffinity=by_name))
    assert refused(binding, asked) == {}


GKE_ZONE = "topology.gke.io/zone"


@pytest.mark.parametrize(
    "said", [{"nodeAffinity": in_zone(ZONE, "za")}, {"metadata": {"labels": {ZONE: "za"}}}]
)
def test_where_a_disk_has_moved_to_its_driver_the_drivers_zone_label_counts(said: Json) -> None:
    nodes = [
        node("old", "za"),
        node("moved", "zb", **{GKE_ZONE: "za"}),
        node("away", "za", **{GKE_ZONE: "zb"}),
    ]
    moved = [csi_node(name, migrated="kubernetes.io/gce-pd") for name in ("moved", "away")]
    disk = volume("pv", phase="Bound", gcePersistentDisk={"pdName": "d"}, **said)
    asked = ask(pod(*mount("c")), *nodes, *moved, disk, bound("c", to="pv"))
    assert refused(binding, asked) == {"away": [(Code.VOLUME_NODE_AFFINITY, "pv", False)]}


# --- claims that wait: volumes that exist --------------------------------------------------------


def test_the_smallest_sufficient_volume_wins_then_the_first_by_name() -> None:
    stock = [volume("big", "local", "9Gi"), volume("tiny", "local", "1Gi")]
    stock += [volume("fit2", "local", "5Gi"), volume("fit1", "local", "5Gi")]
    assert bound_on(0, LOCAL, claim("c", "local", "3Gi"), *stock) == Bindings(bound=((KEY, "fit1"),))


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        ({"size": "1Gi"}, {"size": "2Gi"}),
        ({"of": "other"}, {}),
        ({"phase": "Released"}, {}),
        ({"volumeMode": "Block"}, {}),
        ({"volumeAttributesClassName": "gold"}, {}),
        ({"accessModes": ["ReadOnlyMany"]}, {"accessModes": ["ReadWriteOnce"]}),
        ({"metadata": {"labels": {"app": "x"}}}, {"selector": {"matchLabels": {"app": "y"}}}),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, {}),
        ({"claimRef": {"namespace": "default", "name": "another"}}, {}),
        ({"claimRef": {"namespace": "default", "name": "c", "uid": "of-one-before"}}, {}),
    ],
)
def test_volumes_that_do_not_match_are_not_bound(offered: Json, wanted: Json) -> None:
    described: Json = {"of": "local"} | offered
    stock = volume("pv", **described)
    assert refused(binding, ask(pod(*mount("c")), LOCAL, stock, claim("c", "local", **wanted))) == NOWHERE
    suiting = volume("pv", "local", "2Gi", {"labels": {"app": "y"}}, accessModes=["ReadWriteOnce"])
    assert refused(binding, ask(pod(*mount("c")), LOCAL, suiting, claim("c", "local", **wanted))) == {}


def test_each_node_takes_what_it_reaches() -> None:
    stock = [volume("at-a", "local", "2Gi", nodeAffinity=on_host("a")), volume("far", "local", "9Gi")]
    objects: list[KubernetesObject] = [LOCAL, claim("c", "local"), *stock]
    assert bound_on(0, *objects).bound == ((KEY, "at-a"),)
    assert bound_on(1, *objects).bound == ((KEY, "far"),)


def test_a_volume_set_aside_for_the_claim_is_the_only_one_it_gets() -> None:
    ref = {"namespace": "default", "name": "c"}
    held = volume("held", "local", "9Gi", phase="Bound", claimRef=ref, nodeAffinity=on_host("a"))
    objects: list[KubernetesObject] = [LOCAL, claim("c", "local"), held, volume("free", "local")]
    assert bound_on(0, *objects).bound == ((KEY, "held"),)
    assert refused(binding, ask(pod(*mount("c")), *objects)) == {"b": [NONE_TO_BIND]}


def test_the_claims_of_a_pod_get_different_volumes_and_the_small_one_chooses_first() -> None:
    claims: list[KubernetesObject] = [claim("large", "local", "2Gi"), claim("small", "local", "1Gi"), LOCAL]
    asked = ask(
        pod(*mount("large", "small")), *claims, volume("v1", "local", "3Gi"), volume("v2", "local", "4Gi")
    )
    expected = ((("default", "small"), "v1"), (("default", "large"), "v2"))
    assert bindings(asked, 0) == Bindings(bound=expected)
    only_one = ask(pod(*mount("large", "small")), *claims, volume("v1", "local", "3Gi"))
    missing = [(Code.NO_VOLUME_TO_BIND, "large", False)]
    assert refused(binding, only_one) == {"a": missing, "b": missing}


def test_a_volume_chosen_on_one_node_is_free_on_another() -> None:
    claims = [claim("c1", "local"), claim("c2", "local"), LOCAL]
    stock = [volume("shared", "local", "1Gi"), volume("at-a", "local", "2Gi", nodeAffinity=on_host("a"))]
    stock.append(volume("at-b", "local", "3Gi", nodeAffinity=on_host("b")))
    for row, second in enumerate(("at-a", "at-b")):
        found = bound_on(row, *claims, *stock, mounts=("c1", "c2"))
        assert [name for _, name in found.bound] == ["shared", second]


# --- claims that wait: new volumes ---------------------------------------------------------------


def test_without_a_volume_one_is_made() -> None:
    assert bound_on(0, storage_class(), claim("c")) == Bindings(provisioned=(KEY,))


def test_an_existing_volume_goes_before_a_new_one() -> None:
    here = volume("pv", nodeAffinity=on_host("a"))
    assert bound_on(0, storage_class(), claim("c"), here) == Bindings(bound=((KEY, "pv"),))
    assert bound_on(1, storage_class(), claim("c"), here) == Bindings(provisioned=(KEY,))


def test_a_class_without_provisioner_makes_none() -> None:
    assert refused(binding, ask(pod(*mount("c")), LOCAL, claim("c", "local"))) == NOWHERE


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([{"matchLabelExpressions": [{"key": ZONE, "values": ["za"]}]}], {"b": [NONE_TO_BIND]}),
        ([{}], NOWHERE),
        ([], {}),
    ],
)
def test_volumes_are_made_only_in_allowed_topologies(terms: list[Json], expected: Json) -> None:
    limited = storage_class(allowedTopologies=terms)
    assert refused(binding, ask(pod(*mount("c")), limited, claim("c"))) == expected


def test_once_a_node_was_selected_the_volume_is_made_there() -> None:
    selected = claim("c", metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}})
    asked = ask(pod(*mount("c")), storage_class(), selected, volume("pv"))
    assert refused(binding, asked) == {"a": [NONE_TO_BIND]}
    assert bindings(asked, 1) == Bindings(provisioned=(KEY,))


TRACKED = made(CSIDriver, CSI, spec={"storageCapacity": True})


def room(name: str, zone: str, **sizes: str) -> CSIStorageCapacity:
    fields: Json = {"storageClassName": "late", "nodeTopology": {"matchLabels": {ZONE: zone}}, **sizes}
    return made(CSIStorageCapacity, name, **fields)


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        ([], {"a": [NO_ROOM], "b": [NO_ROOM]}),
        ([room("r", "za", capacity="5Gi")], {"b": [NO_ROOM]}),
        ([room("r", "za", capacity="4Gi")], {"a": [NO_ROOM], "b": [NO_ROOM]}),
        ([room("r", "za", capacity="9Gi", maximumVolumeSize="4Gi")], {"a": [NO_ROOM], "b": [NO_ROOM]}),
        ([room("r", "za", capacity="1Gi"), room("s", "za", capacity="5Gi")], {"b": [NO_ROOM]}),
    ],
)
def test_new_volumes_need_room_where_the_driver_reports_it(rooms: list[Any], expected: Json) -> None:
    asked = ask(pod(*mount("c")), TRACKED, storage_class(), claim("c", size="5Gi"), *rooms)
    assert refused(binding, asked) == expected


def test_a_driver_that_reports_no_room_always_has_it() -> None:
    asked = ask(pod(*mount("c")), made(CSIDriver, CSI), storage_class(), claim("c", size="5Gi"))
    assert refused(binding, asked) == {}


# --- what cannot be read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoilt",
    [
        claim("c", size="much"),
        claim("c", selector={"matchExpressions": [{"key": "k", "operator": "Like"}]}),
    ],
)
def test_a_claim_that_cannot_be_read_gets_nothing(spoilt: Any) -> None:
    asked = ask(pod(*mount("c")), storage_class(), spoilt, volume("pv"))
    assert refused(binding, asked) == NOWHERE
    assert bindings(asked, 0) == Bindings()


LIKE = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Like"}]}]}}


@pytest.mark.parametrize(
    "spoilt", [volume("pv", "local", size="much"), volume("pv", "local", nodeAffinity=LIKE)]
)
def test_a_malformed_volume_is_never_bound(spoilt: PersistentVolume) -> None:
    assert refused(binding, ask(pod(*mount("c")), LOCAL, claim("c", "local"), spoilt)) == NOWHERE
