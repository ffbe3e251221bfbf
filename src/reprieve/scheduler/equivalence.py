"""Whoever asks for the same as somebody who was just refused is refused for the same reasons.

When a toleration ends, all who wait for it are woken at once, and mostly they are pods of one template: the
first has the room, and of the others only one need be looked at.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from reprieve.model.effects import Target
from reprieve.model.groups import group_key
from reprieve.scheduler.changes import Change
from reprieve.scheduler.decision import Decision
from reprieve.scheduler.demands import IN_PLACE, Asker


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    """Good for as long as nothing has happened since, and no time has passed."""

    wish: Hashable
    decision: Decision
    helps: frozenset[Change]  # what it waits for
    about_tolerations: bool

    def decision_for(self, demand: Target, decision_id: str) -> Decision:
        miss = replace(self.decision.miss, pod=demand) if self.decision.miss is not None else None
        return replace(self.decision, id=decision_id, demand=demand, miss=miss)


def wish_of(who: Asker) -> Hashable | None:
    """What a pod asks for, whatever its name; None if it does not ask for itself alone."""
    if who.group is not None or len(who.pods) != 1 or who.key[0] == IN_PLACE:
        return None
    (one,) = who.pods
    spec, namespace = one.pod.spec, one.pod.metadata.namespace
    return one.shape, namespace, spec.scheduler_name, group_key(one.pod), who.priority, who.may_preempt
