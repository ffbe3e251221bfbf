"""The ledger's pods as columns over the rows of the mirror: which are victims, and which room is reserved.

A decision asks for all of them, and hundreds of plans may be open: so columns are kept, and only what changed
in the ledger since they were last read is looked up. A row that was freed and taken by another pod has
another birth number: what was noted for the pod before does not count for it. What the columns are for is not
known here.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, sealed
from reprieve.model.snapshot import NOWHERE
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.index import CountedTargets
from reprieve.scheduler.ledger.nominations import Nominations
from reprieve.scheduler.mirror.growable_columns import grown
from reprieve.scheduler.mirror.world import World

_NEVER = 0  # the birth number of no pod, and of no free row
_NONE: Ints = sealed(np.zeros(0, np.int64))


class _PodColumn:
    """The rows of the pods in a set."""

    def __init__(self, pods: CountedTargets) -> None:
        self._pods = pods
        self._born = np.zeros(0, np.int64)  # the birth number of the pod that is in the set

    @property
    def has_news(self) -> bool:
        return self._pods.has_news

    def write(self, world: World) -> Ints:
        births = world.births()
        self._born = grown(self._born, len(births))
        for pod in self._pods.news():
            row = world.row_of(pod)
            if row is not None:
                self._born[row] = births[row] if pod in self._pods else _NEVER
        return births

    def read(self, world: World) -> Ints:
        if not len(self._pods):
            return _NONE  # as for most decisions, which then need no pass over all pods
        births = self.write(world)
        return np.flatnonzero(self._born[: len(births)] == births)


@dataclass(frozen=True, slots=True, eq=False)
class ReservedRoom:
    """Nominated pods and the nodes they wait for, as rows, the earliest nomination first."""

    pods: Ints
    nodes: Ints


class _NominationColumns:
    def __init__(self, nominations: Nominations) -> None:
        self._nominations = nominations
        self._born = np.zeros(0, np.int64)
        self._since = np.zeros(0, np.int64)
        self._node = np.zeros(0, np.int64)
        self._edition = -1  # of the rows of nodes

    @property
    def has_news(self) -> bool:
        return self._nominations.has_news

    def write(self, world: World) -> Ints:
        births, edition = world.births(), world.edition_of_nodes
        self._born = grown(self._born, len(births))
        self._since = grown(self._since, len(births))
        self._node = grown(self._node, len(births))
        news = self._nominations.news()
        if edition != self._edition:
            self._edition, news = edition, [*news, *(one.pod for one in self._nominations)]
        for pod in news:
            nomination, row = self._nominations.of(pod), world.row_of(pod)
            if row is None:
                continue
            self._born[row] = births[row] if nomination is not None else _NEVER
            if nomination is not None:
                self._since[row], self._node[row] = nomination.since, world.row_of_node(nomination.node)
        return births

    def read(self, world: World) -> ReservedRoom:
        if not len(self._nominations):
            return ReservedRoom(_NONE, _NONE)
        births = self.write(world)
        rows = np.flatnonzero(self._born[: len(births)] == births)
        rows = rows[self._node[rows] != NOWHERE]
        rows = rows[np.argsort(self._since[rows])]
        return ReservedRoom(rows, self._node[rows])


class LedgerColumns:
    def __init__(self, ledger: Ledger) -> None:
        self._chosen = _PodColumn(ledger.victims.chosen)
        self._marked = _PodColumn(ledger.victims.marks)
        self._with_unit = _PodColumn(ledger.unit_evictions.pods)
        self._nominated = _NominationColumns(ledger.nominations)

    def write(self, world: World) -> None:
        """Brings all columns up to date, as far as there is any news."""
        for column in (self._chosen, self._marked, self._with_unit, self._nominated):
            if column.has_news:
                column.write(world)

    def in_flight(self, world: World) -> Ints:
        """The pods that are going to be evicted: chosen by a plan, or marked, be it by a predecessor."""
        return _in_either(self._chosen.read(world), self._marked.read(world))

    def charged(self, world: World) -> Ints:
        """The pods that budgets are charged with: chosen by a plan, or part of a unit that goes."""
        return _in_either(self._chosen.read(world), self._with_unit.read(world))

    def reserved(self, world: World) -> ReservedRoom:
        """Room on nodes that exist."""
        return self._nominated.read(world)


def _in_either(some: Ints, others: Ints) -> Ints:
    """Rows in their order, each once."""
    return np.union1d(some, others) if len(some) and len(others) else (some if len(some) else others)
