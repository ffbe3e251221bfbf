"""Crowded clusters in which running pods want more: no pod is evicted for that in vain.

`python -m tests.simulation.resizes SEED` plays one again and tells its story.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random

from reprieve.model.conditions import resize_preemption_opponents
from reprieve.model.effects import Target
from reprieve.model.footprint import footprint
from reprieve.model.objects import KubernetesObject, Node, Pod, ref_of
from reprieve.model.resources import CPU, Problems
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.store import EventType, Stored, WatchEvent
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.acts import Act, ForbidResizes, Resize
from tests.simulation.crowd import crowd, settings_of
from tests.simulation.crowded_play import CrowdedPlay
from tests.simulation.invariants import Auditor, Books, Tell, hold
from tests.simulation.play import first_of, silent
from tests.simulation.scenario import TROUBLED_SECONDS, Scenario


class End(StrEnum):
    """What became of a resize for which pods were evicted."""

    GRANTED = "granted"
    HARMLESS = "no pod went after all"
    WITHDRAWN = "withdrawn"
    GONE = "the pod is gone"
    NODE_LOST = "the node was lost"
    FORBIDDEN = "the node's policy came between"
    TAKEN = "a more important pod took the room"
    SLIPPED = "the kubelet gave the room to a less important pod, which needed less"


def resizing_crowd(seed: int) -> Scenario:
    rng, plain = Random(f"resizes {seed}"), crowd(seed)
    nodes = [f"n{i}" for i in range(3)]
    return replace(plain, troubles=(*plain.troubles, *_resizes(rng), *_policies(rng, nodes)))


def _resizes(rng: Random) -> Iterator[tuple[float, Act]]:
    for _ in range(rng.choice((3, 10, 25))):
        yield rng.uniform(3, TROUBLED_SECONDS), Resize(rng.randrange(100), rng.choice(("1", "2", "3", "4")))


def _policies(rng: Random, nodes: list[str]) -> Iterator[tuple[float, Act]]:
    for _ in range(rng.choice((0, 0, 1, 3))):
        yield rng.uniform(0, TROUBLED_SECONDS), ForbidResizes(rng.choice(nodes), rng.uniform(0, 10))


def resizing_settings(seed: int) -> Settings:
    settings = settings_of(seed)
    accounting = Random(f"accounting {seed}").choices(list(Accounting), weights=(3, 1))[0]
    return replace(
        settings,
        policies={
            name: replace(policy, resizes=DeferredResizes(accounting))
            for name, policy in settings.policies.items()
        },
    )


# --- what became of them -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promise:
    """Pods were evicted so that this pod may have this much."""

    pod: Target
    node: str
    cpu: int
    priority: int
    at: float
    victims: frozenset[str]  # by uid


@dataclass(slots=True)
class ResizeBooks(Books):
    """What every pod had, and since when.

    Between a decision and its bind a resize may have been granted: that the kubelet then refuses the newcomer
    is not the scheduler's fault.
    """

    held: dict[str, int] = field(default_factory=dict)  # by uid
    priorities: dict[str, int] = field(default_factory=dict)  # by uid
    most: dict[str, list[tuple[float, int]]] = field(default_factory=dict)  # by uid, whenever it grew
    departed: set[str] = field(default_factory=set)  # by uid
    lost: list[tuple[float, str]] = field(default_factory=list)  # nodes
    forbidden: list[tuple[float, str]] = field(default_factory=list)

    def enter(self, change: WatchEvent, thing: KubernetesObject | None) -> None:
        Books.enter(self, change, thing)
        if isinstance(thing, Node):
            if change.type is EventType.DELETED:
                self.lost.append((clock(), thing.metadata.name))
            elif resize_preemption_opponents(thing):
                self.forbidden.append((clock(), thing.metadata.name))
        if isinstance(thing, Pod) and (change.type is EventType.DELETED or thing.metadata.deletion_timestamp):
            self.departed.add(thing.metadata.uid)
        if isinstance(thing, Pod) and thing.spec.node_name:
            held = footprint(thing, Problems(ref_of(thing))).held.get(CPU, 0)
            if held > self.held.get(thing.metadata.uid, 0):
                self.most.setdefault(thing.metadata.uid, []).append((clock(), held))
            self.held[thing.metadata.uid] = held
            self.priorities[thing.metadata.uid] = thing.spec.priority or 0

    def _check_refusals(self, stored: Stored) -> None:
        pass

    def _check_room(self, node: Node, pods: list[Pod]) -> None:
        pass

    def end_of(self, promise: Promise) -> End | None:
        pod = self.pods.get(promise.pod.uid)
        if any(at >= promise.at and cpu >= promise.cpu for at, cpu in self.most.get(promise.pod.uid, ())):
            return End.GRANTED
        if not promise.victims & self.departed:
            return End.HARMLESS
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return End.GONE
        if any(at >= promise.at and name == promise.node for at, name in self.lost):
            return End.NODE_LOST
        if footprint(pod, Problems(ref_of(pod))).desired.get(CPU, 0) != promise.cpu:
            return End.WITHDRAWN
        if any(at >= promise.at and name == promise.node for at, name in self.forbidden):
            return End.FORBIDDEN
        takers = list(self._takers(promise))
        if not takers:
            return None
        return End.TAKEN if max(takers) >= promise.priority else End.SLIPPED

    def _takers(self, promise: Promise) -> Iterator[int]:
        """The priorities of pods that came there or grew there since."""
        for uid, moments in self.most.items():
            other = uid != promise.pod.uid and self.places.get(uid) == promise.node
            if other and any(at >= promise.at for at, _ in moments):
                yield self.priorities[uid]


# --- playing -------------------------------------------------------------------------------------


class ResizingPlay(CrowdedPlay):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(seed, tell)
        self._books = ResizeBooks()
        self._auditor = Auditor(self._cluster.store, self._say, self._books)
        self._promises: list[Promise] = []
        self.ends: Counter[str] = Counter()

    def _drawn(self, seed: int) -> Scenario:
        return resizing_crowd(seed)

    def _chosen(self, seed: int) -> Settings:
        return resizing_settings(seed)

    def _decided(self, decision: Decision) -> None:
        super()._decided(decision)
        growth, room = decision.growth, decision.preemption
        if growth is None:
            return
        self.ends[decision.outcome] += 1
        cpu = growth.resources[CPU].wants if CPU in growth.resources else 0
        if decision.outcome is Outcome.PREEMPTS and room is not None and room.pods:
            victims = frozenset(victim.pod.uid for victim in room.victims)
            promise = Promise(decision.demand, growth.node, cpu, decision.priority, clock(), victims)
            self._promises.append(promise)

    def _check_rest(self) -> None:
        super()._check_rest()
        for promise in self._promises:
            end = self._books.end_of(promise)
            hold(end is not None, f"pods were evicted in vain for {promise}")
            self.ends[str(end)] += 1


def play_resizes(seed: int, tell: Tell = silent) -> Counter[str]:
    play = ResizingPlay(seed, tell)
    try:
        run(play.act())
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation.resizes {seed}")
        raise first from None
    return play.ends


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.resizes", description=__doc__)
    parser.add_argument("seed", type=int)
    print(play_resizes(parser.parse_args().seed, print))


if __name__ == "__main__":
    main()
