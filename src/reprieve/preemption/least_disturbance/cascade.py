"""Where would the pods of a unit go if it were evicted? One fixed number for each unit, as if it went alone.

The nodes that it runs on are left out: the demand takes the room there. What other victims leave, and where
their replacements go, is not considered; so the number can enter a sum. For a plan, ``onward`` does consider
it: no number of a single unit, so that it is reported and no criterion.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import moved, without
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
from reprieve.preemption.plan import Onward, Plan
from reprieve.preemption.question import Question
from reprieve.preemption.units import Unit, Units

FITS, PREEMPTS, NOWHERE_TO_GO = range(3)
_NONE_BELOW = -(1 << 63)  # no unit has a lower priority

_Kind = tuple[bytes, bytes]  # what a pod requests, and the nodes that it may use


def cascades(question: Question, units: Units, victims: Sequence[Unit]) -> Ints:
    """[unit] 0 if its pods fit in free room, 1 if only by preempting others, 2 if nowhere."""
    picture = _Picture(question, units)
    found = np.zeros(len(units.priority), np.int64)
    found[[unit.number for unit in victims]] = [picture.class_of(unit) for unit in victims]
    return found


def onward(question: Question, plan: Plan) -> Onward:
    """Where the victims of a plan go, the most important first, each off the nodes of its own unit.

    The demand is in its place. A pod that preempts takes the room of units below it that are left.
    """
    picture = _Remaining(question, plan)
    found = Counter(picture.goes(unit, pod, own) for unit, own in picture.victims() for pod in unit.pods)
    return Onward(found[FITS], found[PREEMPTS], found[NOWHERE_TO_GO])


class _Remaining:
    """The cluster without the victims and with the demand, which fills up."""

    def __init__(self, question: Question, plan: Plan) -> None:
        view, gone = question.view, [pod for unit in plan.victims for pod in unit.pods]
        places = np.array(plan.places, np.int64).reshape(-1, 2)
        after = moved(without(view, gone), places[:, 0], places[:, 1])
        self._victims, self._where = plan.victims, view.where
        self._picture = _Picture(replace(question, view=after), question.policy.units(after))
        self._left = self._picture.left(_NONE_BELOW).copy()
        self._by_name = np.argsort(view.nodes.rank)
        self._full: set[tuple[_Kind, int, int]] = set()  # what finds no room: it will not find any later

    def victims(self) -> Iterator[tuple[Unit, Mask]]:
        """With the nodes that each is not on."""
        for unit in self._victims:
            others = np.ones(self._left.shape[1], np.bool_)
            others[self._where[list(unit.pods)]] = False
            yield unit, others

    def goes(self, unit: Unit, pod: int, others: Mask) -> int:
        kind = self._picture.kind(pod)
        for result, below in ((FITS, _NONE_BELOW), (PREEMPTS, unit.priority)):
            if (kind, below, unit.number) in self._full:
                continue
            fits = self._picture.has_room(kind, self._left + self._picture.freed(below)) & others
            if fits.any():
                node = self._by_name[fits[self._by_name].argmax()]
                self._left[:, node] -= np.frombuffer(kind[0], np.int64)
                return result
            self._full.add((kind, below, unit.number))
        return NOWHERE_TO_GO


class _Picture:
    """How many pods of each kind each node could take, as it is and without units of lower priorities."""

    def __init__(self, question: Question, units: Units) -> None:
        view = question.view
        self._question, self._units, self._where = question, units, view.where.tolist()
        self._counted = np.array([not is_ignored(n, question.profile) for n in view.axis.names], np.bool_)
        self._left = {_NONE_BELOW: view.allocatable - view.requested}
        self._kinds: dict[Shape, _Kind] = {}
        self._fits: dict[tuple[_Kind, int], tuple[list[int], int]] = {}  # on each node, and in all

    def class_of(self, unit: Unit) -> int:
        nodes = {self._where[pod] for pod in unit.pods}
        kinds = Counter(map(self.kind, unit.pods))
        for result, below in ((FITS, _NONE_BELOW), (PREEMPTS, unit.priority)):
            if all(self._seats(kind, below, nodes) >= count for kind, count in kinds.items()):
                return result
        return NOWHERE_TO_GO

    def _seats(self, kind: _Kind, below: int, without: set[int]) -> int:
        """Each kind of pod is given all the room."""
        if (kind, below) not in self._fits:
            needs, nodes = np.frombuffer(kind[0], np.int64), np.frombuffer(kind[1], np.bool_)
            asked = (needs > 0) & self._counted
            most = len(self._where)
            fits = (self.left(below)[asked] // needs[asked, None]).min(axis=0, initial=most)
            fits = np.where(nodes, np.maximum(fits, 0), 0)
            self._fits[kind, below] = fits.tolist(), int(fits.sum())
        listed, total = self._fits[kind, below]
        return total - sum(listed[node] for node in without)

    def has_room(self, kind: _Kind, left: Ints) -> Mask:
        """[node] whether a pod of this kind fits into so much."""
        needs, nodes = np.frombuffer(kind[0], np.int64), np.frombuffer(kind[1], np.bool_)
        asked = (needs > 0) & self._counted
        fits: Mask = nodes & (left[asked] >= needs[asked, None]).all(axis=0)
        return fits

    def freed(self, below: int) -> Ints:
        """What units of a lower priority use."""
        return self.left(below) - self._left[_NONE_BELOW]

    def kind(self, pod: int) -> _Kind:
        view = self._question.view
        shape = view.pods.shape(pod)
        if shape not in self._kinds:
            self._kinds[shape] = view.pods.requests[:, pod].tobytes(), self._nodes(pod).tobytes()
        return self._kinds[shape]

    def _nodes(self, pod: int) -> Mask:
        """The nodes that all constraints but room allow."""
        view, demand = self._question.view, self._question.demand
        ask, nodes = Ask(view, pod, self._question.profile), np.ones(len(view.nodes), np.bool_)
        for constraint in demand.constraints:
            for rejection in constraint(ask) if constraint is not resources else ():
                nodes &= ~rejection.rows
        return nodes

    def left(self, priority: int) -> Ints:
        """What is left if all units of a lower priority are gone."""
        if priority not in self._left:
            view, of_pod = self._question.view, self._units.of_pod
            lower = of_pod != NOWHERE
            lower[lower] = self._units.priority[of_pod[lower]] < priority
            rows = np.flatnonzero(lower)
            left = self._left[_NONE_BELOW].copy()
            np.add.at(left.T, view.where[rows], view.pods.requests[:, rows].T)
            self._left[priority] = left
        return self._left[priority]
