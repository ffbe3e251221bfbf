"""Which pods are evicted together as one unit, and which units are being evicted now?

A unit goes whole: its pods without a node start when all of its pods with one are gone. That is known from
three sides: the mirror says which groups form a unit, open plans say which evictions are about to begin, and
the ledger says what has begun. Here they are asked together, and nothing is changed.
"""

from reprieve.model.groups import GroupKey
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.unit_evictions import BEHIND_SECONDS, UnitPod
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.open_plans import Plans


class WholeUnits:
    def __init__(self, ledger: Ledger, world: World, plans: Plans) -> None:
        self.ledger = ledger
        self.world = world
        self.plans = plans

    def unit_of(self, group: GroupKey | None) -> str | None:
        """The name of the unit that the pods of a group are evicted with; None if each goes alone.

        A group around it that appears meanwhile does not change the unit whose eviction has begun.
        """
        if group is None:
            return None
        begun = self.ledger.unit_evictions.unit_of(group) or self.ledger.open_marks.unit_of(group)
        found = self.world.groups.tree().unit(group) if begun is None else None
        return found[0] if found is not None else begun

    def is_any_evicted(self) -> bool:
        """Whether any plan is open, or the eviction of any unit has begun."""
        return bool(len(self.plans) or len(self.ledger.unit_evictions) or len(self.ledger.open_marks))

    def is_being_preempted(self, group: GroupKey) -> bool:
        """Whether its pods without a node wait until all of its pods with one are gone."""
        if not (len(self.ledger.unit_evictions) or len(self.ledger.open_marks) or self.committing()):
            return False
        return self.unit_of(group) in self.held()

    def held(self) -> frozenset[str]:
        """Units with a pod that is waited for, or with a mark that is not closed yet."""
        begun = (unit for unit in self.ledger.unit_evictions.units() if self.is_waited_for(unit))
        return self.committing().union(begun, self.ledger.open_marks.units())

    def groups_being_evicted(self) -> frozenset[GroupKey]:
        """Groups with pods that are evicted with a unit, or with a mark that is not closed yet."""
        return self.ledger.unit_evictions.groups() | self.ledger.open_marks.groups()

    def is_waited_for(self, unit: str) -> bool:
        """Whether a pod of this unit is on its way."""
        return self.ledger.unit_evictions.holds(unit, self.is_over)

    def committing(self) -> frozenset[str]:
        """Units whose eviction is about to begin."""
        marked = ((group.namespace, group.name) for group in self.plans.committing())
        return frozenset(unit for unit in map(self.unit_of, marked) if unit is not None)

    def is_over(self, one: UnitPod) -> bool:
        """Whether a pod of a unit is not waited for: it is stuck, or stays, or its node is gone."""
        pod = one.pod
        gone = not self.world.node_of((pod.namespace, pod.name))
        return gone or one.is_refused_for_good or self.ledger.terminating.is_stuck(pod)

    def is_past(self, one: UnitPod, now: float) -> bool:
        """Whether a pod that is shown with a node only now got it after this pod of its unit was deleted."""
        if one.is_refused_for_good:
            return now - one.begun >= BEHIND_SECONDS
        terminating = self.ledger.terminating
        may_be_behind = not terminating.has_lasted(one.pod, BEHIND_SECONDS, now)
        return self.is_over(one) and not (terminating.is_stuck(one.pod) and may_be_behind)
