"""The plans under way: whom they concern, which of them an answer is for, and whose marks nobody needs.

Knows how a plan goes on only from ``handover``, and nothing of queues or snapshots.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from reprieve.model.effects import Effect, Target
from reprieve.model.objects import Pod, PodGroup
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.handover import Handover, is_marked

_SWEEP_AFTER = 30.0  # seconds; who takes over from a scheduler that died has made its plans by then


class Plans:
    def __init__(self) -> None:
        self._plans: dict[DemandKey, Handover] = {}
        self._strays: Counter[Effect] = Counter()  # sent for plans that were called off since
        self._marked: set[Target] = set()  # pods and groups that are marked, by us or by whom we replace
        self._sweep_at: float | None = None

    def __len__(self) -> int:
        return len(self._plans)

    def __iter__(self) -> Iterator[tuple[DemandKey, Handover]]:
        """A plan may be changed or dropped on the way."""
        return iter(list(self._plans.items()))

    def of(self, key: DemandKey) -> Handover | None:
        return self._plans.get(key)

    def keep(self, key: DemandKey, handover: Handover) -> None:
        """A new plan, or a plan that went on."""
        self._plans[key] = handover

    def drop(self, key: DemandKey) -> Handover | None:
        handover = self._plans.pop(key, None)
        if handover is not None:
            self._strays.update(handover.pending)
        return handover

    # --- answers ---

    def answered(self, effect: Effect) -> DemandKey | None:
        """The plan that waited for this, and does not any more."""
        key = self._sender(effect)
        if key is not None:
            plan = self._plans[key]
            self._plans[key] = replace(plan, pending=plan.pending - {effect})
        return key

    def must_know(self, effect: Effect) -> bool:
        """Whether an answer that was lost has to be asked for again."""
        return self._sender(effect) is not None

    def _sender(self, effect: Effect) -> DemandKey | None:
        """On one object, what was sent first ends first: so answers to what was sent in vain come before."""
        if effect in self._strays:
            self._strays -= Counter((effect,))  # those of which none is left are not kept
            return None
        asking = ((key, plan.pending) for key, plan in self._plans.items() if plan.pending)
        return next((key for key, pending in asking if effect in pending), None)

    def take_back(self, effect: Effect) -> bool:
        """Whether it is for a plan that was called off since: then it is not sent, and no answer comes."""
        if effect not in self._strays or effect.target in self.needed():
            return False
        self._strays -= Counter((effect,))
        return True

    def expects(self, effect: Effect) -> bool:
        """Whether an answer to this will be for somebody, be it in vain."""
        return effect in self._strays or any(effect in plan.pending for plan in self._plans.values())

    # --- whom they concern ---

    def concerned(self, target: Target) -> list[tuple[DemandKey, Handover]]:
        return [(key, plan) for key, plan in self._plans.items() if plan.is_open and plan.concerns(target)]

    def waiting_for(self, pod: Target) -> set[DemandKey]:
        """Demands that cannot go on before this pod, and the others whose room they wait for, are gone."""
        plans = ((key, plan) for key, plan in self._plans.items() if plan.is_open and not plan.apart)
        return {key for key, plan in plans if plan.waits_for(pod)}

    def needed(self) -> set[Target]:
        """Whoever has to go for an open plan."""
        plans = [plan for plan in self._plans.values() if plan.is_open]
        return {target for plan in plans for target in (*plan.victims, *plan.marks)}

    def victims_in_flight(self) -> set[Target]:
        """Pods that are going to be evicted: chosen by a plan, or marked."""
        marked = {target for target in self._marked if target.kind == "Pod"}
        return marked.union(*(plan.victims for plan in self._plans.values()))

    # --- marks ---

    def saw(self, thing: Pod | PodGroup) -> None:
        meta = thing.metadata
        target = Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)
        if is_marked(thing):
            self._marked.add(target)
        else:
            self._marked.discard(target)

    def lost(self, target: Target) -> None:
        self._marked.discard(target)

    def unused_marks(self) -> set[Target]:
        return self._marked - self.needed() if self._marked else self._marked

    def is_time_to_sweep(self, now: float, *, litter: bool) -> bool:
        """Litter lies for a while, in case somebody needs it."""
        due = self._sweep_at is not None and now >= self._sweep_at
        if not litter or due:
            self._sweep_at = None
        if litter and self._sweep_at is None:
            self._sweep_at = now + _SWEEP_AFTER
        return litter and due

    def next_time(self) -> float | None:
        return self._sweep_at

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        self._sweep_at = None if self._sweep_at is None else self._sweep_at + seconds
