"""The plans that are being carried out: which of them an answer is for, and which pods they need gone.

How a plan goes on is known only from ``handover``. The calls that a plan leaves behind when it is called
off, and the marks that the cluster shows, are in the ledger: plans read it, and it knows nothing of plans.
Nothing here knows queues or snapshots.
"""

from collections.abc import Collection, Iterator, Set
from dataclasses import replace

from reprieve.model.effects import Effect, Target
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.handover import Handover, Stage
from reprieve.scheduler.ledger.victims import Victims


class Plans:
    def __init__(self, victims: Victims) -> None:
        self._plans: dict[DemandKey, Handover] = {}
        self._committing: dict[DemandKey, Handover] = {}  # looked at after every event, so not searched for
        self._victims = victims

    def __len__(self) -> int:
        return len(self._plans)

    def __iter__(self) -> Iterator[tuple[DemandKey, Handover]]:
        """The caller may change or drop plans meanwhile."""
        return iter(list(self._plans.items()))

    def of(self, key: DemandKey) -> Handover | None:
        return self._plans.get(key)

    def keep(self, key: DemandKey, handover: Handover) -> None:
        """A new plan, or a plan that went on."""
        self._plans[key] = handover
        if handover.stage is Stage.COMMITTING:
            self._committing[key] = handover
        else:
            self._committing.pop(key, None)

    def committing(self) -> Collection[Handover]:
        """Plans that are about to begin their evictions."""
        return self._committing.values()

    def drop(self, key: DemandKey) -> Handover | None:
        """Calls off a plan. Its calls cannot be taken back: they will be answered, and for no plan."""
        handover = self._plans.pop(key, None)
        self._committing.pop(key, None)
        if handover is not None:
            self._victims.stray(handover.pending)
        return handover

    # --- answers ---

    def answered(self, effect: Effect) -> DemandKey | None:
        """The plan that waited for this call; it does not any more."""
        key = self._sender(effect)
        if key is not None:
            plan = self._plans[key]
            self.keep(key, replace(plan, pending=plan.pending - {effect}))
        return key

    def must_know(self, effect: Effect) -> bool:
        """Whether a plan waits for an answer that was lost, so that the call has to be sent again."""
        return self._sender(effect) is not None

    def _sender(self, effect: Effect) -> DemandKey | None:
        """Calls on one object are answered in the order in which they were sent: so the stray one first."""
        if self._victims.is_stray(effect):
            self._victims.forget(effect)
            return None
        asking = ((key, plan.pending) for key, plan in self._plans.items() if plan.pending)
        return next((key for key, pending in asking if effect in pending), None)

    def take_back(self, effect: Effect) -> bool:
        """Whether the plan was called off before the call was sent: then it is not sent, and not answered."""
        if not self._victims.is_stray(effect) or effect.target in self.needed():
            return False
        self._victims.forget(effect)
        return True

    def expects(self, effect: Effect) -> bool:
        """Whether an answer to this call is counted on, by a plan or as a stray one."""
        return self._victims.is_stray(effect) or any(effect in p.pending for p in self._plans.values())

    # --- victims ---

    def concerned(self, target: Target) -> list[tuple[DemandKey, Handover]]:
        return [(key, plan) for key, plan in self._plans.items() if plan.is_open and plan.concerns(target)]

    def waiting_for(self, pod: Target) -> set[DemandKey]:
        """Demands that cannot go on before this pod, and the others whose room they wait for, are gone."""
        plans = ((key, plan) for key, plan in self._plans.items() if plan.is_open and not plan.apart)
        return {key for key, plan in plans if plan.waits_for(pod)}

    def needed(self) -> set[Target]:
        """The pods and groups that have to go for an open plan."""
        plans = [plan for plan in self._plans.values() if plan.is_open]
        return {target for plan in plans for target in (*plan.victims, *plan.marks)}

    def victims(self) -> set[Target]:
        """Pods that were chosen by plans."""
        return set[Target]().union(*(plan.victims for plan in self._plans.values()))

    def victims_in_flight(self) -> set[Target]:
        """Pods that are going to be evicted: chosen by a plan, or marked, be it by a predecessor."""
        marked = {target for target in self._victims.marked if target.kind == "Pod"}
        return marked | self.victims()

    def unused_marks(self) -> Set[Target]:
        """Marks that no open plan needs."""
        marked = self._victims.marked
        return marked - self.needed() if marked else marked
