"""The plans that are being carried out: which of them an answer is for, and which pods they need gone.

How a plan goes on is known only from ``handover``. The calls that a plan leaves behind when it is called
off, the marks that the cluster shows, and what plans together need gone are in the ledger: plans read and
write it, and it knows nothing of plans. Nothing here knows queues or snapshots.

Hundreds of plans may be open, and every event and every decision asks which of them it concerns. So plans are
found by call, by target and by node, and never searched for. Among plans the one that was opened first comes
first.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from reprieve.model.effects import Effect, Target
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.index import Index
from reprieve.scheduler.ledger.victims import VictimLedger
from reprieve.scheduler.plans.handover import Handover, Stage

T = TypeVar("T", bound=Hashable)
_NONE: frozenset[Target] = frozenset()


@dataclass(frozen=True, slots=True)
class _Entries:
    """What one plan is found by, and what it needs gone."""

    calls: frozenset[Effect] = frozenset()
    targets: frozenset[Target] = _NONE  # its victims, pods that leave, and groups that are evicted whole
    nodes: frozenset[str] = frozenset()  # those that its pods wait for
    victims: frozenset[Target] = _NONE
    needed: frozenset[Target] = _NONE  # its victims and the groups it marks, as long as it is open
    marks: frozenset[Target] = _NONE  # these groups


_NO_ENTRIES = _Entries()


class Plans:
    def __init__(self, victims: VictimLedger) -> None:
        self._plans: dict[DemandKey, Handover] = {}
        self._committing: set[DemandKey] = set()  # looked at after every event, so not searched for
        self._entries: dict[DemandKey, _Entries] = {}
        self._turns: dict[DemandKey, int] = {}  # in which order plans were opened
        self._turn = 0
        self._by_call: Index[Effect, DemandKey] = Index()
        self._by_target: Index[Target, DemandKey] = Index()
        self._by_node: Index[str, DemandKey] = Index()
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
        before = self._plans.get(key)
        if before is None:
            self._turn += 1
            self._turns[key] = self._turn
        self._plans[key] = handover
        if handover.stage is Stage.COMMITTING:
            self._committing.add(key)
        else:
            self._committing.discard(key)
        self._enter(key, _entries_of(handover, before, self._entries.get(key, _NO_ENTRIES)))

    def committing(self) -> frozenset[Target]:
        """Groups of which pods are evicted as a part of the whole, by plans that are about to begin."""
        return _NONE.union(*(self._entries[key].marks for key in self._committing))

    def drop(self, key: DemandKey) -> Handover | None:
        """Calls off a plan. Its calls cannot be taken back: they will be answered, and for no plan."""
        handover = self._plans.pop(key, None)
        self._committing.discard(key)
        if handover is not None:
            self._enter(key, _NO_ENTRIES)
            del self._entries[key], self._turns[key]
            self._victims.stray(handover.pending)
        return handover

    def _enter(self, key: DemandKey, entries: _Entries) -> None:
        """Brings all look-ups up to date."""
        before = self._entries.get(key, _NO_ENTRIES)
        self._entries[key] = entries
        _reindex(self._by_call, key, before.calls, entries.calls)
        _reindex(self._by_target, key, before.targets, entries.targets)
        _reindex(self._by_node, key, before.nodes, entries.nodes)
        _tell(self._victims.chosen.remove, self._victims.chosen.add, before.victims, entries.victims)
        _tell(self._victims.need_no_more, self._victims.need, before.needed, entries.needed)

    def _found(self, keys: Iterable[DemandKey]) -> list[tuple[DemandKey, Handover]]:
        return [(key, self._plans[key]) for key in sorted(keys, key=self._turns.__getitem__)]

    # --- answers ---

    def on_answered(self, effect: Effect) -> DemandKey | None:
        """The plan that waited for this call; it does not any more."""
        key = self._match(effect)
        if key is not None:
            plan = self._plans[key]
            self.keep(key, replace(plan, pending=plan.pending - {effect}))
        return key

    def match_lost_answer(self, effect: Effect) -> bool:
        """Whether a plan waited for the answer that was lost, so that the call has to be sent again."""
        return self._match(effect) is not None

    def _match(self, effect: Effect) -> DemandKey | None:
        """Calls on one object are answered in the order in which they were sent: so the stray one first."""
        if self._victims.is_stray(effect):
            self._victims.forget(effect)
            return None
        return min(self._by_call.under(effect), key=self._turns.__getitem__, default=None)

    def take_back(self, effect: Effect) -> bool:
        """Whether the plan was called off before the call was sent: then it is not sent, and not answered."""
        if not self._victims.is_stray(effect) or effect.target in self.needed():
            return False
        self._victims.forget(effect)
        return True

    def waiting_for_answer(self, effect: Effect) -> Collection[DemandKey]:
        """Demands whose plans wait for the answer to this call."""
        return self._by_call.under(effect)

    def expects(self, effect: Effect) -> bool:
        """Whether an answer to this call is counted on, by a plan or as a stray one."""
        return self._victims.is_stray(effect) or effect in self._by_call

    # --- victims and nodes ---

    def concerned(self, target: Target) -> list[tuple[DemandKey, Handover]]:
        """Open plans for which this pod or group has to go, or leaves anyway."""
        found = self._found(self._by_target.under(target))
        return [(key, plan) for key, plan in found if plan.is_open and plan.concerns(target)]

    def waiting_for(self, pod: Target) -> set[DemandKey]:
        """Demands that cannot go on before this pod, and the others whose room they wait for, are gone."""
        plans = ((key, self._plans[key]) for key in self._by_target.under(pod))
        return {key for key, plan in plans if plan.is_open and not plan.apart and plan.waits_for(pod)}

    def at(self, nodes: Iterable[str]) -> list[tuple[DemandKey, Handover]]:
        """Plans whose pods wait for room on one of these nodes."""
        return self._found({key for node in nodes for key in self._by_node.under(node)})

    def needed(self) -> Set[Target]:
        """The pods and groups that have to go for an open plan. Not a copy."""
        return self._victims.needed

    def victims(self) -> Set[Target]:
        """Pods that were chosen by plans. Not a copy."""
        return self._victims.chosen.all

    def victims_in_flight(self) -> set[Target]:
        """Pods that are going to be evicted: chosen by a plan, or marked, be it by a predecessor."""
        marked = {target for target in self._victims.marked if target.kind == "Pod"}
        return marked | self.victims()

    def is_in_flight(self, pod: Target) -> bool:
        return pod in self._victims.chosen or pod in self._victims.marked

    def unused_marks(self) -> Set[Target]:
        """Marks that no open plan needs. Not a copy."""
        return self._victims.unused_marks

    # --- what must hold ---

    def misfiled(self) -> Iterator[DemandKey]:
        """Plans that are not found by what they are; and, if more is needed gone than they say, any."""
        for key, plan in self._plans.items():
            entries = _entries_of(plan, None, _NO_ENTRIES)
            found = (
                all(key in self._by_call.under(call) for call in entries.calls)
                and all(key in self._by_target.under(target) for target in entries.targets)
                and all(key in self._by_node.under(node) for node in entries.nodes)
            )
            if not found or self._entries[key] != entries:
                yield key
        if self._entries.keys() != self._plans.keys() or self._turns.keys() != self._plans.keys():
            yield from self._entries.keys() ^ self._plans.keys()
        needed = _NONE.union(*(entries.needed for entries in self._entries.values()))
        chosen = _NONE.union(*(entries.victims for entries in self._entries.values()))
        if needed != self._victims.needed or chosen != self._victims.chosen.all:
            yield from self._plans


def _entries_of(handover: Handover, before: Handover | None, entries: _Entries) -> _Entries:
    """What is the same as before is not made anew: most steps change one call of many."""
    if before is None or before.places is not handover.places:
        nodes = frozenset(node for _, node in handover.places)
    else:
        nodes = entries.nodes
    if (
        before is not None
        and before.victims is handover.victims
        and before.leaving is handover.leaving
        and before.groups is handover.groups
    ):
        targets = entries.targets
    else:
        targets = handover.victims.as_set.union(handover.leaving, handover.groups.groups_of(handover.victims))
    victims, marks = handover.victims.as_set, _marks(handover, before, entries)
    if not marks:
        needed = victims if handover.is_open else _NONE
    else:
        needed = entries.needed if marks is entries.marks else victims | marks
    return _Entries(handover.pending, targets, nodes, victims, needed, marks)


def _marks(handover: Handover, before: Handover | None, entries: _Entries) -> frozenset[Target]:
    if not (handover.is_open and handover.groups):
        return _NONE
    if (
        before is not None
        and before.is_open
        and before.gone is handover.gone
        and before.victims is handover.victims
        and before.groups is handover.groups
    ):
        return entries.marks
    return frozenset(handover.marks)


def _reindex(index: Index[T, DemandKey], key: DemandKey, before: frozenset[T], after: frozenset[T]) -> None:
    if before is not after:
        for value in before - after:
            index.remove(value, key)
        for value in after - before:
            index.add(value, key)


def _tell(
    gone: Callable[[Iterable[Target]], None],
    come: Callable[[Iterable[Target]], None],
    before: frozenset[Target],
    after: frozenset[Target],
) -> None:
    if before is not after:
        gone(before - after)
        come(after - before)
