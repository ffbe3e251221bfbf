"""Can it be the scheduler of this cluster? What is found out about versions, kinds, gates and rights."""

import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from reprieve.assembly.checking import CheckReport, CheckResult, Grade, check_cluster
from reprieve.assembly.daemon import DaemonError
from reprieve.cluster.api.timestamps import micro_stamp
from reprieve.cluster.certificates import new_certificate
from reprieve.config.parsing import KIND
from reprieve.config.plugin_args import API_VERSION
from reprieve.model.json import Json
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import (
    NO_PROGRESS,
    TOKEN,
    ProgresslessFront,
    UnstreamedFront,
    WatchfulFront,
    living_cluster,
)

CERTIFICATE = new_certificate(("127.0.0.1",))
NOTHING_WRITTEN = {"apiVersion": API_VERSION, "kind": KIND}
TREES = "TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"


def report(
    tmp_path: Path,
    gates: str = "",
    document: object = NOTHING_WRITTEN,
    objects: Callable[[float], Sequence[Json]] = lambda now: (),
    user: dict[str, str] | None = None,
) -> CheckReport:
    async def main() -> CheckReport:
        async with (
            living_cluster(clock) as operator,
            over_tls(operator.front, tmp_path, user or {"token": TOKEN}) as path,
        ):
            for body in objects(clock()):
                await operator.create(body)
            return await check_cluster(document, gates, path, "here", clock)

    return run(main())


@asynccontextmanager
async def over_tls(front: WatchfulFront, tmp_path: Path, user: dict[str, str]) -> AsyncIterator[str]:
    """The path of the kubeconfig."""
    async with HttpServer(front, ListenAddress(tls=CERTIFICATE.context())) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(kubeconfig(server.url, user))
        yield str(path)


def kubeconfig(server: str, user: dict[str, str]) -> str:
    trusted = {"certificate-authority-data": base64.b64encode(CERTIFICATE.certificate).decode()}
    return yaml.safe_dump(
        {
            "clusters": [{"name": "here", "cluster": {"server": server, **trusted}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        }
    )


def test_the_owner_of_a_cluster_can(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert found.can_schedule
    assert CheckResult("Version", Grade.GOOD, found.version) in found.findings
    assert CheckResult("Kind", Grade.GOOD, "PodGroup in scheduling.k8s.io/v1beta1") in found.findings
    assert CheckResult("Lease", Grade.GOOD, "lease kube-system/reprieve: free") in found.findings
    assert (
        CheckResult("Devices", Grade.GOOD, "0 ResourceSlices and 0 pods with ResourceClaims")
        in found.findings
    )


def test_devices_and_pods_that_claim_them_are_counted(tmp_path: Path) -> None:
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "claiming", "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "app"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
        },
    }
    devices = {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
    }
    slices = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"s{i}"},
            "spec": devices,
        }
        for i in range(2)
    ]
    found = report(tmp_path, objects=lambda now: [pod, *slices])
    (about,) = [one for one in found.findings if one.code == "Devices"]
    assert about.grade is Grade.WARNING
    assert about.text.startswith("2 ResourceSlices and 1 pod with ResourceClaims: ")


def held(name: str, seconds_ago: float) -> Callable[[float], Sequence[Json]]:
    """A lease that was renewed so long ago."""

    def lease(now: float) -> Sequence[Json]:
        spec = {
            "holderIdentity": "other-replica",
            "leaseDurationSeconds": 15,
            "renewTime": micro_stamp(now - seconds_ago),
        }
        meta = {"namespace": "kube-system", "name": name}
        return [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}]

    return lease


def about_leases(report: CheckReport) -> list[tuple[Grade, str]]:
    return [(finding.grade, finding.text) for finding in report.findings if finding.code == "Lease"]


def test_a_lease_counts_for_as_long_as_it_is_renewed(tmp_path: Path) -> None:
    ((grade, text),) = about_leases(report(tmp_path, objects=held("reprieve", 5)))
    assert (grade, text) == (Grade.GOOD, "lease kube-system/reprieve: held by other-replica")
    ((grade, text),) = about_leases(report(tmp_path, objects=held("reprieve", 60)))
    assert text.startswith("lease kube-system/reprieve: free, other-replica held it until ")


def test_a_kube_scheduler_that_runs_no_more_is_none(tmp_path: Path) -> None:
    document = {**NOTHING_WRITTEN, "profiles": [{"schedulerName": "default-scheduler"}]}
    _, (grade, text) = about_leases(report(tmp_path, document=document, objects=held("kube-scheduler", 5)))
    assert grade is Grade.WARNING
    assert text == "lease kube-system/kube-scheduler is held by other-replica: two would be default-scheduler"
    assert len(about_leases(report(tmp_path, document=document, objects=held("kube-scheduler", 60)))) == 1


def test_the_user_is_reported_and_an_unreadable_lease_is_not_called_free(
    tmp_path: Path,
) -> None:
    found = report(tmp_path, user={"token": TOKEN, "as": "jane"})
    assert CheckResult("User", Grade.GOOD, "the rights are those of jane") in found.findings
    assert about_leases(found) == [(Grade.WARNING, "lease kube-system/reprieve: its holder cannot be read")]
    assert not found.can_schedule


def test_a_limit_that_could_not_be_counted_after_a_restart_is_reported(tmp_path: Path) -> None:
    limit = {"evictions": 3, "window": "10m", "belowPriority": 1000}
    profile = {"pluginConfig": [{"name": "Reprieve", "args": {"evictionLimit": limit}}]}
    lacking = CheckResult(
        "Right",
        Grade.WARNING,
        "we may not list events.events.k8s.io: a replica that starts counts no earlier evictions for "
        "evictionLimit",
    )
    jane = {"token": TOKEN, "as": "jane"}
    assert (
        lacking in report(tmp_path, document={**NOTHING_WRITTEN, "profiles": [profile]}, user=jane).findings
    )
    assert lacking not in report(tmp_path, user=jane).findings


def test_gates_without_effect_are_reported(tmp_path: Path) -> None:
    useless = CheckResult(
        "Gate", Grade.WARNING, "CompositePodGroup is on, and the server has no CompositePodGroup"
    )
    assert useless in report(tmp_path, TREES).findings
    assert [f for f in report(tmp_path).findings if f.code == "Gate"] == []


def about_lists(report: CheckReport) -> tuple[Grade, str]:
    ((grade, text),) = [(found.grade, found.text) for found in report.findings if found.code == "Lists"]
    return grade, text


@pytest.mark.parametrize(
    ("new_front", "why"), [(ProgresslessFront, NO_PROGRESS), (UnstreamedFront, "the WatchList feature gate")]
)
def test_a_server_without_streamed_lists_can_do(
    tmp_path: Path, new_front: type[WatchfulFront], why: str
) -> None:
    async def main() -> CheckReport:
        async with (
            living_cluster(clock, new_front) as operator,
            over_tls(operator.front, tmp_path, {"token": TOKEN}) as path,
        ):
            return await check_cluster(NOTHING_WRITTEN, "", path, "here", clock)

    found = run(main())
    grade, text = about_lists(found)
    assert grade is Grade.WARNING
    assert text.startswith("streaming lists: not available, paged lists are used: ")
    assert why in text
    assert found.can_schedule


def test_streamed_lists_are_reported_as_far_as_we_may_try_them(tmp_path: Path) -> None:
    assert about_lists(report(tmp_path)) == (Grade.GOOD, "streaming lists: available")
    grade, text = about_lists(report(tmp_path, user={"token": TOKEN, "as": "jane"}))
    assert grade is Grade.WARNING
    assert text.startswith("streaming lists: this cannot be found out: ")


def test_rejected_credentials_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DaemonError, match="rejects the credentials"):
        report(tmp_path, user={"token": "forged"})


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig("http://127.0.0.1:1", {}))
    with pytest.raises(DaemonError, match="cannot be reached"):
        run(check_cluster(NOTHING_WRITTEN, "", str(path), "here"))
