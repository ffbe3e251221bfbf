"""Where would the pods of a unit go if it were evicted? One fixed number for each unit, as if it went alone.

The nodes that it runs on are left out: the demand takes the room there. What other victims leave, and where
their replacements go, is not considered; so the number can enter a sum.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
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
        view, nodes = self._question.view, {self._where[pod] for pod in unit.pods}
        kinds = Counter(self._kind(view.pods.shape(pod), pod) for pod in unit.pods)
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
            fits = (self._without_lower(below)[asked] // needs[asked, None]).min(axis=0, initial=most)
            fits = np.where(nodes, np.maximum(fits, 0), 0)
            self._fits[kind, below] = fits.tolist(), int(fits.sum())
        listed, total = self._fits[kind, below]
        return total - sum(listed[node] for node in without)

    def _kind(self, shape: Shape, pod: int) -> _Kind:
        if shape not in self._kinds:
            view = self._question.view
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

    def _without_lower(self, priority: int) -> Ints:
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
