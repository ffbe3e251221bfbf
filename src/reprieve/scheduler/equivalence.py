"""Demands that are equivalent to one that was just refused are refused for the same reasons.

When a toleration ends, all demands that wait for it are woken at once, and most of them are pods of one
template: the first gets the room, and of the others only one need be looked at.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from reprieve.model.effects import Target
from reprieve.model.groups import group_key
from reprieve.scheduler.decision import Decision
from reprieve.scheduler.demands import Requester, WaitingGroup, WaitingPod, WaitingResize
from reprieve.scheduler.queueing_hints import Change


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    """Holds as long as nothing has happened since, and no time has passed."""

    equivalence_key: Hashable
    decision: Decision
    helps: frozenset[Change]  # the changes that it waits for
    about_tolerations: bool

    def decision_for(self, demand: Target, decision_id: str) -> Decision:
        miss = replace(self.decision.miss, pod=demand) if self.decision.miss is not None else None
        return replace(self.decision, id=decision_id, demand=demand, miss=miss)


def equivalence_key_of(requester: Requester) -> Hashable | None:
    """Equal for pods that are decided alike, whatever their names; None: nothing is equivalent to it."""
    match requester:
        case WaitingPod(pod=one):
            spec, namespace = one.pod.spec, one.pod.metadata.namespace
            owner = (namespace, spec.scheduler_name, group_key(one.pod))
            return one.shape, owner, requester.priority, requester.may_preempt
        case WaitingGroup() | WaitingResize():
            return None
