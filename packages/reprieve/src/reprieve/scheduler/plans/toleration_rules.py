"""What the scheduler does about the annotations of priority classes, besides protecting pods by them.

The record stands for a feature gate: assembly chooses whether tolerations count.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf

from reprieve.model.groups import GroupKey, Groups
from reprieve.model.objects import PriorityClass
from reprieve.model.snapshot import Snapshot
from reprieve.preemption.plan import Plan
from reprieve.preemption.toleration import TolerationFault, faults_of, toleration_of
from reprieve.scheduler.plans.handover import Handover


def first_end(classes: Iterable[PriorityClass], since: float) -> float:
    """No pod whose time counts from then on can lose the protection of these classes before this."""
    lengths = (toleration_of(known).seconds for known in classes)
    return since + min((seconds for seconds in lengths if seconds > 0), default=inf)


@dataclass(frozen=True, slots=True)
class TolerationRules:
    faults: Callable[[PriorityClass], tuple[TolerationFault, ...]]  # what is wrong with its annotations
    in_doubt: Callable[[Handover], bool]  # whether a plan is made anew when a class changes
    unprotected: Callable[[Snapshot, Plan], Iterator[tuple[int, str]]]  # victims (rows) whose class is gone
    is_timed: Callable[[Groups, GroupKey], bool]  # whether a group has a clock, which its condition shows


def protects_pods(priority_class: PriorityClass) -> bool:
    """Whether the annotations of the class protect its pods, if tolerations count."""
    return toleration_of(priority_class).seconds != 0


def _may_be_protected_now(handover: Handover) -> bool:
    """No eviction has been sent, so the victims may still be protected."""
    return handover.evicts_later


def _victims_without_class(view: Snapshot, plan: Plan) -> Iterator[tuple[int, str]]:
    for row in (row for unit in plan.victims for row in unit.pods):
        name = view.pods.classes[row]
        if name and name not in view.priority_classes:
            yield row, name


def _is_evicted_whole(groups: Groups, key: GroupKey) -> bool:
    return groups.unit(key) is not None


def _never(_: Groups, __: GroupKey) -> bool:
    return False


HONOURED = TolerationRules(faults_of, _may_be_protected_now, _victims_without_class, _is_evicted_whole)
POD_BY_POD = replace(HONOURED, is_timed=_never)  # as the scheduler plugin: each pod has its own clock
IGNORED = TolerationRules(lambda _: (), lambda _: False, lambda _, __: iter(()), _never)
