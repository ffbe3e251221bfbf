"""How far Deployments and Jobs have come."""

from typing import Any

from reprieve_minicluster.scenes.tables import workload_table


def workload(kind: str, spec: dict[str, int], **status: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"namespace": "shop", "name": "web"}, "spec": spec, "status": status}


def row(kind: str, spec: dict[str, int], **status: Any) -> list[str]:
    line = workload_table([workload(kind, spec, **status)])[1].text
    return line.removeprefix(f"{kind} shop/web").split()


def test_deployments() -> None:
    assert row("Deployment", {"replicas": 3}) == ["0/3", "ready", "progressing"]
    assert row("Deployment", {"replicas": 3}, readyReplicas=3) == ["3/3", "ready", "available"]


def test_jobs() -> None:
    done = [{"type": "Complete", "status": "True"}]
    failed = [{"type": "Failed", "status": "True"}]
    assert row("Job", {"completions": 4}, succeeded=1) == ["1/4", "done", "running"]
    assert row("Job", {"completions": 4}, succeeded=4, conditions=done) == ["4/4", "done", "complete"]
    assert row("Job", {"completions": 4}, conditions=failed) == ["0/4", "done", "failed"]
