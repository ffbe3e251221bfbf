"""A table of Deployments and Jobs with their progress, from the objects as JSON."""

from collections.abc import Iterable

from reprieve.model.json import Json
from reprieve.report.text_layout import TextLine, table


def workload_table(workloads: Iterable[Json]) -> list[TextLine]:
    return table(["WORKLOAD", "PODS", "STATE"], [_row(workload) for workload in workloads])


def _row(workload: Json) -> list[str]:
    meta, spec, status = workload["metadata"], workload["spec"], workload.get("status", {})
    name = f"{workload['kind']} {meta['namespace']}/{meta['name']}"
    if workload["kind"] == "Job":
        return [name, f"{status.get('succeeded', 0)}/{spec.get('completions', 1)} done", _job_state(status)]
    ready, desired = status.get("readyReplicas", 0), spec.get("replicas", 1)
    return [name, f"{ready}/{desired} ready", "available" if ready >= desired else "progressing"]


def _job_state(status: Json) -> str:
    ended = [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
    return next((state.lower() for state in ("Complete", "Failed") if state in ended), "running")
