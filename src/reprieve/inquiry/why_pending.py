"""Why does a pod or a group still wait for room, and what would let it run, in order of effort?"""

from collections.abc import Sequence
from dataclasses import dataclass

from reprieve.inquiry.why import Evidence, Statement, WhyReport, WhyState
from reprieve.model.effects import Target
from reprieve.model.objects import Pod
from reprieve.report.decisions import shown
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target


@dataclass(frozen=True, slots=True)
class Asking:
    """With which settings a what-if is asked. ``policy``: their name."""

    settings: Settings
    policy: str


def why_pending(
    target: Target,
    waiting: Sequence[Pod],
    evidence: Evidence,
    asking: Asking,
    before: tuple[Statement, ...] = (),
) -> WhyReport:
    return WhyReport(target, WhyState.PENDING, f"{shown(target)} waits.", before)


def why_deferred(pod: Pod, evidence: Evidence, asking: Asking) -> WhyReport:
    return WhyReport(pod_target(pod), WhyState.RESIZE_DEFERRED, "")
