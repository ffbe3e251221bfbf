"""Demands that are equivalent to one that was refused are refused as well, until something changes.

In a full cluster a pod that leaves wakes all demands that wait for room, and most of them are pods or gangs
of one template: the first gets the room, and of the others only one need be looked at. A refusal holds until
something happens that may help, in the cluster or in the ledger, and no longer than any time that it depends
on. What it says is exact only until anything happens at all: a demand that was told something else, or
nothing, is told it only then.
"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from msgspec import structs

from reprieve.model.events import Change
from reprieve.model.groups import group_key
from reprieve.model.moment import Due, Moment
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demands import Requester, WaitingGroup, WaitingPod, WaitingResize
from reprieve.scheduler.queue.queue import Happened
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.explanation import naming_another_pod, refusal_notice
from reprieve.scheduler.targets import pod_target

_MOST = 1024  # classes that are remembered; beyond that the longest ago are forgotten


@dataclass(frozen=True, slots=True)
class Stamp:
    """How much had happened."""

    changes: Happened
    ledger: int
    world: int  # as far as decisions read it


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    requester: Requester  # that it was decided for
    decision: Decision
    helps: frozenset[Change]  # the changes that it waits for
    ended_by: frozenset[Change]  # those that may end what protects pods that could make room
    lasts: bool = True  # or it holds only for as long as no time passes
    said: str = ""  # the lasting part of what its pods are told

    @property
    def minds(self) -> frozenset[Change]:
        return self.helps | self.ended_by

    def decision_for(self, requester: Requester, decision_id: str, at: float) -> Decision:
        """The decision about other pods: each stands for the one that had its place among the pods."""
        pods = {pod_target(old.pod): pod_target(new.pod) for old, new in self._pairs(requester)}
        eviction = self.decision.eviction
        if eviction is not None and eviction.at_best is not None:
            old, new = eviction.at_best.pod, pods[eviction.at_best.pod]
            text = naming_another_pod(eviction.because.text, old, new)
            best = structs.replace(eviction.at_best, pod=new)
            because = structs.replace(eviction.because, text=text)
            eviction = structs.replace(eviction, because=because, at_best=best)
        miss = self.decision.miss
        return structs.replace(
            self.decision,
            id=decision_id,
            demand=requester.target,
            miss=structs.replace(miss, pod=pods[miss.pod]) if miss is not None else None,
            eviction=eviction,
            at=at,
        )

    def names_others(self, requester: Requester) -> bool:
        """Whether the demand would be told of pods that are not its own."""
        if requester.key == self.requester.key or len(requester.pods) == 1:
            return False
        text, own = (
            self.decision_for(requester, "", 0.0).text,
            {new.pod.metadata.name for _, new in self._pairs(requester)},
        )
        names = {old.pod.metadata.name for old, _ in self._pairs(requester)} - own
        return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) for name in names)

    def _pairs(self, requester: Requester) -> Iterable[tuple[CompiledPod, CompiledPod]]:
        return zip(self.requester.pods, requester.pods, strict=True)


class Refusals:
    """What was refused last, by equivalence class."""

    def __init__(self, longest: float) -> None:
        """``longest``: for how many seconds a refusal holds at most, whatever happens or not."""
        self._longest = longest
        self._known: dict[Hashable, tuple[RememberedRefusal, Stamp, Moment, Due]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, refused: RememberedRefusal, stamp: Stamp, until: Due, now: Moment) -> None:
        """``until``: when it may end even if nothing happens."""
        key = equivalence_key_of(refused.requester)
        if key is None:
            return
        until = replace(until, elapsed=min(until.elapsed, now.elapsed + self._longest))
        self._known.pop(key, None)
        refused = replace(refused, said=refusal_notice(refused.decision).said)
        self._known[key] = refused, stamp, now, until if refused.lasts else Due(elapsed=now.elapsed)
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def of(self, key: Hashable, stamp: Stamp, now: Moment) -> tuple[RememberedRefusal, bool] | None:
        """The refusal of this class, if it holds; and whether what it says is exact."""
        found = self._known.get(key)
        if found is None:
            return None
        refused, before, since, until = found
        if (
            not (now == since or (now.elapsed < until.elapsed and since.wall <= now.wall < until.wall))
            or before.ledger != stamp.ledger
            or stamp.changes.may_help(before.changes, refused.minds)
        ):
            del self._known[key]
            return None
        return refused, before.world == stamp.world and (now == since or refused.decision.retry_at is None)

    def clear(self) -> None:
        self._known.clear()


def equivalence_key_of(requester: Requester) -> Hashable | None:
    """Equal for demands that are decided alike, whatever their names; None: nothing is equivalent to it."""
    if any(pod.shape.ephemeral_claims for pod in requester.pods):
        return None  # whether such a claim is the pod's own depends on its UID
    match requester:
        case WaitingPod(pod=one):
            spec, namespace = one.pod.spec, one.pod.metadata.namespace
            owner = (namespace, spec.scheduler_name, group_key(one.pod))
            return one.shape, owner, requester.priority, requester.may_preempt
        case WaitingGroup(pods=pods, tree=tree):
            shapes = tuple(pod.shape for pod in pods)
            served = (requester.key.namespace, pods[0].pod.spec.scheduler_name)
            # Members that run, and groups around it, are its own.
            own = requester.key if tree.running or tree.children or tree.group.spec.parent else None
            # Without workload-aware preemption each pod preempts with its own.
            priorities = (requester.priority, *(pod.pod.spec.priority or 0 for pod in pods))
            return shapes, served, own, tree.signature, priorities, requester.may_preempt
        case WaitingResize():
            return None
