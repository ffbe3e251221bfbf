"""Sets, storage drivers and the older controllers: what is filled in, what is refused, what stays."""

import pytest
from tests.unit.cluster.admission.admitting import (
    ATTACHMENT,
    CAPACITY,
    CLAIM,
    CRON_JOB,
    CSI_DRIVER,
    DAEMON_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    STORAGE_CLASS,
    ask,
    create,
    created,
    refusal,
    refused_at,
    update,
    with_value,
)

from reprieve.cluster.admission.admission import Operation
from reprieve.model.json import Json

ROLLING = "spec.updateStrategy.rollingUpdate"
MOUNT = [{"name": "main", "image": "a", "volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}]

REFUSED: list[tuple[Json, str, object, str]] = [
    (DAEMON_SET, f"{ROLLING}.maxSurge", 1, f"{ROLLING}.maxSurge"),
    (DAEMON_SET, f"{ROLLING}.maxUnavailable", 0, f"{ROLLING}.maxUnavailable"),
    (DAEMON_SET, "spec.template.spec.restartPolicy", "Never", "spec.template.spec.restartPolicy"),
    (DAEMON_SET, "spec.updateStrategy.type", "Recreate", "spec.updateStrategy.type"),
    (STATEFUL_SET, f"{ROLLING}.maxUnavailable", 0, f"{ROLLING}.maxUnavailable"),
    (STATEFUL_SET, "spec.updateStrategy", {"type": "OnDelete", "rollingUpdate": {}}, ROLLING),
    (STATEFUL_SET, "spec.ordinals.start", -1, "spec.ordinals.start"),
    (
        STATEFUL_SET,
        "spec.volumeClaimTemplates",
        [with_value(CLAIM, "spec.accessModes", [])],
        "spec.volumeClaimTemplates[0].spec.accessModes",
    ),
    (
        STATEFUL_SET,
        "spec.template.spec.containers",
        MOUNT,
        "spec.template.spec.containers[0].volumeMounts[0].name",
    ),
    (REPLICATION_CONTROLLER, "spec.selector", {"app": "other"}, "spec.template.metadata.labels"),
    (REPLICATION_CONTROLLER, "spec.replicas", -1, "spec.replicas"),
    (CRON_JOB, "metadata.name", "a" * 53, "metadata.name"),
    (CRON_JOB, "spec.schedule", "", "spec.schedule"),
    (CRON_JOB, "spec.schedule", "TZ=Etc/UTC 0 8 * * *", "spec.schedule"),
    (CRON_JOB, "spec.schedule", "61 * * * *", "spec.schedule"),
    (CRON_JOB, "spec.timeZone", "Local", "spec.timeZone"),
    (CRON_JOB, "spec.timeZone", "Nowhere", "spec.timeZone"),
    (CRON_JOB, "spec.concurrencyPolicy", "Maybe", "spec.concurrencyPolicy"),
    (CRON_JOB, "spec.failedJobsHistoryLimit", -1, "spec.failedJobsHistoryLimit"),
    (CRON_JOB, "spec.jobTemplate.spec.parallelism", -1, "spec.jobTemplate.spec.parallelism"),
    (
        CRON_JOB,
        "spec.jobTemplate.spec.template.spec.containers",
        [],
        "spec.jobTemplate.spec.template.spec.containers",
    ),
    (CSI_DRIVER, "spec.fsGroupPolicy", "Sometimes", "spec.fsGroupPolicy"),
    (CSI_DRIVER, "spec.volumeLifecycleModes", ["Short"], "spec.volumeLifecycleModes[0]"),
    (CSI_DRIVER, "spec.tokenRequests", [{"audience": "a"}] * 2, "spec.tokenRequests[1].audience"),
    (CSI_DRIVER, "spec.nodeAllocatableUpdatePeriodSeconds", 9, "spec.nodeAllocatableUpdatePeriodSeconds"),
    (CAPACITY, "storageClassName", "", "storageClassName"),
    (CAPACITY, "capacity", "-1", "capacity"),
    (ATTACHMENT, "spec.source", {}, "spec.source.persistentVolumeName"),
    (ATTACHMENT, "spec.source.inlineVolumeSpec", {}, "spec.source"),
    (ATTACHMENT, "spec.attacher", "", "spec.attacher"),
]


@pytest.mark.parametrize(("body", "path", "value", "where"), REFUSED)
def test_refused(body: Json, path: str, value: object, where: str) -> None:
    assert where in refused_at(create(with_value(body, path, value)))


@pytest.mark.parametrize(
    ("body", "path", "value"),
    [
        (DAEMON_SET, "spec.selector.matchLabels", {"app": "web", "more": "yes"}),
        (CSI_DRIVER, "spec.attachRequired", False),
        (CAPACITY, "storageClassName", "slow"),
        (ATTACHMENT, "spec.nodeName", "other"),
    ],
)
def test_what_stays(body: Json, path: str, value: object) -> None:
    old = created(body)
    assert refused_at(update(with_value(old, path, value), old)) != []


def test_a_container_may_mount_what_comes_of_a_template_of_claims() -> None:
    mounting = with_value(STATEFUL_SET, "spec.template.spec.containers", MOUNT)
    claim = {**CLAIM, "metadata": {"name": "disk"}}
    assert refused_at(create(with_value(mounting, "spec.volumeClaimTemplates", [claim]))) == []


def test_claims_grow_where_their_class_allows_it() -> None:
    old = {**with_value(created(CLAIM), "spec.storageClassName", "fast"), "status": {"phase": "Bound"}}
    new = with_value(old, "spec.resources.requests.storage", "2Gi")
    fast = {**STORAGE_CLASS, "metadata": {"name": "fast"}}
    answer = refusal(ask(Operation.UPDATE, new, fast, old=old))
    assert "allowVolumeExpansion" in answer.sentence
    assert refused_at(ask(Operation.UPDATE, new, {**fast, "allowVolumeExpansion": True}, old=old)) == []


def test_what_is_filled_in() -> None:
    assert created(DAEMON_SET)["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    controller = created(REPLICATION_CONTROLLER)
    assert (controller["spec"]["replicas"], controller["spec"]["selector"]) == (1, {"app": "web"})
    cron_job = created(CRON_JOB)["spec"]
    assert (cron_job["concurrencyPolicy"], cron_job["successfulJobsHistoryLimit"]) == ("Allow", 3)
    template = cron_job["jobTemplate"]["spec"]
    assert "backoffLimit" not in template, "it is filled in when the job is made"
    assert template["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    driver = created(CSI_DRIVER)["spec"]
    assert (driver["attachRequired"], driver["volumeLifecycleModes"]) == (True, ["Persistent"])
