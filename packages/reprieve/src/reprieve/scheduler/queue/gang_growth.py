"""Members of one gang that ask to grow: how long they wait for each other, and which are decided in one go.

A resize of a whole gang reaches the kubelets of its members one after the other. A member that does not fit
waits for the others for a moment, so that all of them are planned one after another, with no demand of the
same or a lower priority in between: then each counts on the victims of the ones before it. Knows no plans,
and nothing of room.
"""

from collections.abc import Collection, Mapping, Sequence

from reprieve.model.groups import GroupKey
from reprieve.scheduler.demand_key import DemandKey


class GangGrowth:
    def __init__(self, window: float | None) -> None:
        """``window``: seconds from the first member that asks; None: each is decided by itself."""
        self.is_on = window is not None
        self._window = window or 0.0
        self._until: dict[GroupKey, float] = {}
        self._silent: dict[GroupKey, GroupKey] = {}  # for each open window a pod that had not asked yet
        self._together: dict[DemandKey, tuple[DemandKey, ...]] = {}  # members, and all of the same go
        self._next: list[DemandKey] = []
        self._degraded: dict[GroupKey, set[DemandKey]] = {}  # members that wait until enough pods run again

    def was_gathered(self, member: DemandKey) -> bool:
        """Whether it has waited for the others: it need not do so again."""
        return member in self._together

    def waits_until(self, gang: GroupKey, now: float) -> float | None:
        """When members of the gang are decided; None if the wait is over."""
        until = self._until.get(gang)
        if until is None or until + self._window < now:  # or it was begun for members that are gone
            until = self._until[gang] = now + self._window
        return until if now < until else None

    def wait_for(self, gang: GroupKey, pod: GroupKey) -> None:
        """This pod has not asked yet: while that is so, no other pod of the gang need be looked at."""
        self._silent[gang] = pod

    def waited_for(self, gang: GroupKey, now: float) -> GroupKey | None:
        """The pod of ``wait_for``; None if no member of the gang waits for others now."""
        return self._silent.get(gang) if now < self._until.get(gang, now) else None

    def gather(self, gang: GroupKey, members: Sequence[DemandKey]) -> None:
        """These members are decided next, in this order."""
        self.forget_gang(gang)
        self._together.update(dict.fromkeys(members, tuple(members)))
        self._next.extend(members)

    def next_member(self) -> DemandKey | None:
        """The member that is decided next; it stays so until it is passed."""
        return self._next[0] if self._next else None

    def pass_member(self) -> None:
        """The next member is being decided, or cannot be decided now."""
        del self._next[0]

    def decided_with(self, member: DemandKey) -> tuple[DemandKey, ...]:
        return tuple(one for one in self._together.get(member, ()) if one != member)

    def forget(self, member: DemandKey) -> None:
        """The member does not ask any more."""
        self._together.pop(member, None)
        for gang, members in [*self._degraded.items()]:
            members.discard(member)
            if not members:
                del self._degraded[gang]

    # --- while too few run ---

    def wait_until_enough_run(self, gang: GroupKey, member: DemandKey) -> None:
        self._degraded.setdefault(gang, set()).add(member)

    def degraded(self) -> Mapping[GroupKey, Collection[DemandKey]]:
        """Members that were refused since too little of their gang, or of a tree around it, runs."""
        return self._degraded

    def take_degraded(self, gang: GroupKey) -> Collection[DemandKey]:
        """The members of the gang may preempt again."""
        return self._degraded.pop(gang, ())

    def forget_gang(self, gang: GroupKey) -> None:
        self._until.pop(gang, None)
        self._silent.pop(gang, None)
