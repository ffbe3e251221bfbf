"""The other kinds: nodes, volumes, services, data, budgets, leases, events."""

import pytest
from tests.unit.cluster.admission.admitting import (
    BUDGET,
    CLAIM,
    CONFIG_MAP,
    CSI_NODE,
    EVENT,
    LEASE,
    NAMESPACE,
    NEW_EVENT,
    NODE,
    SECRET,
    SERVICE,
    STORAGE_CLASS,
    VOLUME,
    admitted,
    create,
    created,
    errors,
    refused_at,
    update,
    with_value,
)

from reprieve.model.json import Json

OWNERS = "spec.podPreemptionPolicy.disableResizePreemption"
OLDER_OWNERS = "spec.preemptionPolicy.disablePodResizePreemption"
TWO_PORTS = [{"port": 80}, {"port": 81}]

REFUSED: list[tuple[Json, str, object, str]] = [
    (NAMESPACE, "metadata.name", "a.b", "metadata.name"),
    (NAMESPACE, "metadata.namespace", "default", "metadata.namespace"),
    (NODE, "spec.taints", [{"key": "a", "effect": "Never"}], "spec.taints[0].effect"),
    (NODE, "spec.taints", [{"key": "a"}], "spec.taints[0].effect"),
    (NODE, "spec.taints", [{"key": "a", "effect": "NoExecute"}] * 2, "spec.taints[1]"),
    (NODE, OWNERS, ["example.com/me"] * 2, f"{OWNERS}[1]"),
    (NODE, OWNERS, ["not a key"], f"{OWNERS}[0]"),
    (NODE, OWNERS, [f"example.com/a{i}" for i in range(21)], OWNERS),
    (NODE, OLDER_OWNERS, ["not a key"], f"{OLDER_OWNERS}[0]"),
    (NODE, OLDER_OWNERS, [f"example.com/a{i}" for i in range(21)], OLDER_OWNERS),
    (NODE, "status.capacity.cpu", "-1", "status.capacity[cpu]"),
    (NODE, "status.declaredFeatures", ["B", "A"], "status.declaredFeatures"),
    (CONFIG_MAP, "metadata.finalizers", ["mine"], "metadata.finalizers[0]"),
    (CONFIG_MAP, "data", {"bad key": "x"}, "data[bad key]"),
    (CONFIG_MAP, "data.key", 5, "data[key]"),
    (CONFIG_MAP, "binaryData", {"key": "eA=="}, "data[key]"),
    (CONFIG_MAP, "binaryData", {"other": "not base64"}, "binaryData[other]"),
    (CONFIG_MAP, "data.key", "x" * 1_100_000, "data"),
    (SECRET, "data", {"other": "not base64"}, "data[other]"),
    (SECRET, "stringData.key", 5, "stringData[key]"),
    (SECRET, "type", "kubernetes.io/tls", "data[tls.crt]"),
    (SERVICE, "spec.ports", [], "spec.ports"),
    (SERVICE, "spec.ports", TWO_PORTS, "spec.ports[1].name"),
    (SERVICE, "spec.ports.0.port", 0, "spec.ports[0].port"),
    (SERVICE, "spec.ports.0.nodePort", 30000, "spec.ports[0].nodePort"),
    (SERVICE, "spec.type", "Internal", "spec.type"),
    (SERVICE, "spec.type", "ExternalName", "spec.externalName"),
    (SERVICE, "metadata.name", "a.b", "metadata.name"),
    (VOLUME, "spec.accessModes", [], "spec.accessModes"),
    (VOLUME, "spec.accessModes", ["ReadWriteOnce", "ReadWriteOncePod"], "spec.accessModes"),
    (VOLUME, "spec.capacity", {}, "spec.capacity[storage]"),
    (VOLUME, "spec.hostPath", {"path": "/x"}, "spec.hostPath"),
    (VOLUME, "spec.csi", None, "spec"),
    (CLAIM, "spec.resources.requests", {}, "spec.resources[storage]"),
    (CLAIM, "spec.resources.requests.storage", "0", "spec.resources[storage]"),
    (CLAIM, "spec.volumeMode", "Disk", "spec.volumeMode"),
    (STORAGE_CLASS, "provisioner", "", "provisioner"),
    (STORAGE_CLASS, "volumeBindingMode", "Later", "volumeBindingMode"),
    (CSI_NODE, "spec.drivers.0.nodeID", "", "spec.drivers[0].nodeID"),
    (BUDGET, "spec.maxUnavailable", 1, "spec"),
    (BUDGET, "spec.minAvailable", "150%", "spec.minAvailable"),
    (BUDGET, "spec.minAvailable", -1, "spec.minAvailable"),
    (BUDGET, "spec.selector.matchExpressions", [{"key": "a", "operator": "Gt"}],
     "spec.selector.matchExpressions[0].operator"),
    (LEASE, "spec.leaseDurationSeconds", 0, "spec.leaseDurationSeconds"),
    (EVENT, "involvedObject.namespace", "team", "involvedObject.namespace"),
    (EVENT, "eventTime", "2026-01-02T03:04:05.000000Z", "reportingComponent"),
    (NEW_EVENT, "note", "x" * 1025, "note"),
    (NEW_EVENT, "action", "", "action"),
    (NEW_EVENT, "type", "Odd", "type"),
    (NEW_EVENT, "deprecatedCount", 3, "deprecatedCount"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path", "value", "blamed"), REFUSED, ids=[r[3] for r in REFUSED])
def test_an_object_is_refused(body: Json, path: str, value: object, blamed: str) -> None:
    assert blamed in refused_at(create(with_value(body, path, value)))


BOUND = {"phase": "Bound"}
FIXED: list[tuple[Json, str, object, str | None]] = [
    (NODE, "spec.providerID", "a", None),
    (with_value(NODE, "spec.providerID", "a"), "spec.providerID", "b", "spec.providerID"),
    (NODE, "spec.unschedulable", True, None),
    ({**CONFIG_MAP, "immutable": True}, "data.key", "other", "data"),
    ({**CONFIG_MAP, "immutable": True}, "immutable", False, "immutable"),
    (CONFIG_MAP, "data.key", "other", None),
    (SECRET, "type", "example.com/other", "type"),
    (VOLUME, "spec.csi.volumeHandle", "other", "spec.csi"),
    (VOLUME, "spec.claimRef", {"name": "c", "namespace": "default"}, None),
    (VOLUME, "spec.volumeMode", "Block", "spec.volumeMode"),
    (CLAIM, "spec.volumeName", "pv", None),
    (with_value(CLAIM, "spec.volumeName", "pv"), "spec.volumeName", "other", "spec"),
    (CLAIM, "spec.resources.requests.storage", "2Gi", "spec"),
    ({**CLAIM, "status": BOUND}, "spec.resources.requests.storage", "1Mi", "spec.resources.requests.storage"),
    (CLAIM, "spec.accessModes", ["ReadOnlyMany"], "spec"),
    (CLAIM, "spec.storageClassName", "fast", None),
    (STORAGE_CLASS, "volumeBindingMode", "WaitForFirstConsumer", "volumeBindingMode"),
    (STORAGE_CLASS, "allowVolumeExpansion", True, None),
    (CSI_NODE, "spec.drivers.0.nodeID", "other", "spec.drivers[0]"),
    (CSI_NODE, "spec.drivers.0.allocatable", {"count": 5}, None),
    (BUDGET, "spec.minAvailable", 3, None),
]


@pytest.mark.parametrize(("body", "path", "value", "blamed"), FIXED, ids=[f"{f[1]} {f[3]}" for f in FIXED])
def test_what_is_fixed_stays(body: Json, path: str, value: object, blamed: str | None) -> None:
    stored = created(body)
    answer = refused_at(update(with_value(stored, path, value), stored))
    assert blamed in answer if blamed else answer == []


@pytest.mark.parametrize("field", ["regarding", "reason", "note", "type", "action", "eventTime"])
def test_what_happened_stays_as_it_was(field: str) -> None:
    stored = created(NEW_EVENT)
    other: object = {"kind": "Node", "name": "n"} if field == "regarding" else "Warning"
    changed = {**stored, field: "2026-01-02T03:04:06.000000Z" if field == "eventTime" else other}
    assert field in refused_at(update(changed, stored))
    series = {"count": 2, "lastObservedTime": "2026-01-02T03:04:06.000000Z"}
    assert refused_at(update({**stored, "series": series}, stored)) == []


@pytest.mark.parametrize(("body", "field"), [(CONFIG_MAP, "binaryData"), (SECRET, "data")])
def test_encoded_data_may_have_line_breaks(body: Json, field: str) -> None:
    stored = created(with_value(body, field, {"a": "YWJj\r\nZGVm\n"}))
    assert stored[field]["a"] == "YWJjZGVm"


@pytest.mark.parametrize("data", [{"a": "hunter2!"}, {"a/b": "aHVudGVyMiEx"}])
def test_a_refusal_does_not_show_a_secret(data: Json) -> None:
    (error,) = errors(create(with_value(SECRET, "data", data)))
    assert next(iter(data.values())) not in str(error)


def test_ports_of_nodes_that_are_not_chosen_are_no_duplicates() -> None:
    ports = [{"name": name, "port": port, "nodePort": 0} for name, port in (("a", 1), ("b", 2))]
    assert (
        refused_at(create(with_value(with_value(SERVICE, "spec.type", "NodePort"), "spec.ports", ports)))
        == []
    )


@pytest.mark.parametrize("name", ["mine.example.com/it", "kubernetes", "orphan"])
def test_finalizers_belong_to_a_pod(name: str) -> None:
    assert refused_at(create(with_value(CONFIG_MAP, "metadata.finalizers", [name]))) == []


def test_what_a_name_was_made_from_is_looked_at_once() -> None:
    assert refused_at(create(with_value(CONFIG_MAP, "metadata.generateName", "No-"))) == [
        "metadata.generateName"
    ]
    assert refused_at(create(with_value(CONFIG_MAP, "metadata.generateName", ""))) == []
    stored = created(CONFIG_MAP)
    assert refused_at(update(with_value(stored, "metadata.generateName", "No-"), stored)) == []


def test_an_object_that_is_being_deleted_gets_no_new_finalizers() -> None:
    stored = with_value(created(CONFIG_MAP), "metadata.deletionTimestamp", "2026-01-02T03:04:05Z")
    stored = with_value(stored, "metadata.finalizers", ["example.com/a", "example.com/b"])
    fewer = with_value(stored, "metadata.finalizers", ["example.com/b"])
    assert admitted(update(fewer, stored))
    other = with_value(stored, "metadata.finalizers", ["example.com/c"])
    assert refused_at(update(other, stored)) == ["metadata.finalizers"]


def test_the_status_of_a_budget_counts_nothing_below_zero() -> None:
    stored = created(BUDGET)
    sent = {**stored, "status": {"disruptionsAllowed": -1}}
    assert refused_at(update(sent, stored, subresource="status")) == ["status.disruptionsAllowed"]
