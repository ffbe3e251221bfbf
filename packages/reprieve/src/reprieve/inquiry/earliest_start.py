"""By when can a demand start that does not fit now, as far as it is known when others end?

Protections of running pods end at known times, and the pods of a Job end by its deadline. What fits once some
of them have ended is taken to fit later, too: so the first such moment is found by bisection.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import structs

from reprieve.cluster.api.values import part, text_in
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.whatif import WhatIfAnswer, WhatIfOutcome, WhatIfReport, whatif
from reprieve.scheduler.reporting.decision import EvictionReason

_MOST_MOMENTS = 256  # that are told apart: at most nine more questions


@dataclass(frozen=True, slots=True)
class _Deadline:
    at: float
    job: str


def with_starts(question: WhatIfQuestion, answer: WhatIfAnswer, now: float) -> WhatIfAnswer:
    """The answer, with the earliest starts of what cannot fit now."""
    waiting = [one for one in answer.reports if one.outcome is WhatIfOutcome.UNSCHEDULABLE]
    if not waiting:
        return answer
    deadlines = _deadlines(question.cluster, now)
    reports = {id(one): _with_start(question, one, deadlines) for one in waiting}
    return replace(answer, reports=tuple(reports.get(id(one), one) for one in answer.reports))


def _with_start(
    question: WhatIfQuestion, report: WhatIfReport, deadlines: Mapping[int, _Deadline]
) -> WhatIfReport:
    ends = {deadline.at for deadline in deadlines.values()}
    moments = sorted(ends | ({report.retry_at} if report.retry_at is not None else set()))[:_MOST_MOMENTS]
    asked: dict[float, WhatIfReport | None] = {}

    def fits(moment: float) -> bool:
        if moment not in asked:
            then = replace(question, cluster=_later(question.cluster, deadlines, moment))
            found = whatif(then, moment).reports
            asked[moment] = next((one for one in found if _is_same(one, report)), None)
        then_report = asked[moment]
        return then_report is not None and then_report.outcome in (WhatIfOutcome.FITS, WhatIfOutcome.PREEMPTS)

    if not moments or not fits(moments[-1]):
        return report
    first = moments[bisect_left(moments, True, key=fits)]
    found = asked[first]
    late = found.starts_at if found is not None else None
    return structs.replace(report, starts_at=late or first, starts_because=_because(deadlines, first))


def _is_same(one: WhatIfReport, other: WhatIfReport) -> bool:
    mine, its = one.demand, other.demand
    return (mine.kind, mine.namespace, mine.name, one.resize) == (
        its.kind,
        its.namespace,
        its.name,
        other.resize,
    )


def _because(deadlines: Mapping[int, _Deadline], moment: float) -> EvictionReason:
    jobs = sorted({deadline.job for deadline in deadlines.values() if deadline.at == moment})
    if not jobs:
        return EvictionReason("ProtectionEnds", "more pods may be evicted")
    more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
    return EvictionReason("JobDeadline", f"Job {jobs[0]}{more} has ended by its activeDeadlineSeconds")


def _later(cluster: DecodedCluster, deadlines: Mapping[int, _Deadline], moment: float) -> DecodedCluster:
    """Without the pods of Jobs that have ended by then."""

    def runs(thing: object) -> bool:
        deadline = deadlines.get(id(thing))
        return deadline is None or deadline.at > moment

    return replace(cluster, seen=tuple(one for one in cluster.seen if runs(one.object)))


def _deadlines(cluster: DecodedCluster, now: float) -> dict[int, _Deadline]:
    """Of running pods of Jobs with a deadline, by the identity of the pod's record."""
    jobs: dict[tuple[str, str], float | None] = {}
    found: dict[int, _Deadline] = {}
    for pod in cluster.pods():
        owner = next(
            (ref for ref in pod.metadata.owner_references if ref.controller and ref.kind == "Job"), None
        )
        if owner is None or not pod.spec.node_name:
            continue
        name = (pod.metadata.namespace, owner.name)
        if name not in jobs:
            jobs[name] = _end_of_job(cluster, *name)
        at = jobs[name]
        if at is not None and at > now:
            found[id(pod)] = _Deadline(at, "/".join(name))
    return found


def _end_of_job(cluster: DecodedCluster, namespace: str, name: str) -> float | None:
    job = cluster.by_name.find("Job", namespace, name) or {}
    seconds, started = (
        part(job, "spec").get("activeDeadlineSeconds"),
        text_in(part(job, "status"), "startTime"),
    )
    if not isinstance(seconds, int) or not started:
        return None
    try:
        return datetime.fromisoformat(started).timestamp() + seconds
    except ValueError:
        return None
