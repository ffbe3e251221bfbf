"""Where would the pods of a unit go if it were evicted? One fixed class for each unit, as if it went alone.

Its pods fit in free room, or only by preempting others, which is a cascade of evictions, or nowhere. The
nodes that the unit runs on are left out: the demand takes the room there. What other victims leave, and where
their replacements go, is not considered, so that the class can enter a sum. For a plan, ``onward`` does
consider it: that is no number of a single unit, so it is reported and no criterion.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import groupby, pairwise

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.selectors import ANYWHERE
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, sums_by_node
from reprieve.model.whatif import moved, without
from reprieve.placement.constraints import constraints_under
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
from reprieve.preemption.criteria import CASCADE
from reprieve.preemption.plan import Onward, Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.units import Unit, Units

FITS, PREEMPTS, NOWHERE_TO_GO = range(3)  # cascade classes: the higher, the worse for the workload
_NONE_BELOW = -(1 << 63)  # no unit has a lower priority
_HIGHEST = (1 << 63) - 1

# What a pod requests [resource], and the nodes that it may use [node]. Pods of one kind go to the same nodes,
# so each question is answered once for a kind; bytes of arrays are keys, arrays are not.
_Kind = tuple[bytes, bytes]


class Cascades:
    """The classes of units that are asked for one after the other: equal pods are looked at once."""

    def __init__(self, question: Question, units: Units) -> None:
        self._units, self._capacity = units, _Capacity(question, lambda: units)

    def of(self, numbers: Ints) -> Ints:
        """[unit] the classes of these units (numbers); zero for all others."""
        found = np.zeros(len(self._units.priority), np.int64)
        if len(numbers):
            found[numbers] = _Classes(self._capacity, self._units, numbers).found()
        return found

    def at_least(self, allowed: Mask) -> int:
        """A lower bound on the classes of the allowed units ([unit]).

        It is the class of a pod that is as small as the smallest in each resource, may run on any node, and
        has the highest priority: no unit has it easier.
        """
        units, capacity, some = self._units, self._capacity, allowed & (self._units.size > 0)
        if not some.any():
            return FITS
        # The smallest of all pods that run, and not of the allowed units alone: the column is read in one go,
        # and a smaller pod only lowers the bound.
        running = units.of_pod != NOWHERE  # [pod]
        smallest = np.minimum.reduce(units.view.pods.requests, axis=1, where=running, initial=_HIGHEST)
        if capacity.has_room(smallest, _NONE_BELOW):
            return FITS
        highest = int(np.maximum.reduce(units.scheduling, where=some, initial=-_HIGHEST))
        preempts = highest > capacity.lowest and capacity.has_room(smallest, highest)
        return PREEMPTS if preempts else NOWHERE_TO_GO


def onward(question: Question, plan: Plan) -> Onward:
    """Count where the victims of a plan go, the most important first, each off the nodes of its own unit.

    The demand is in its place. A pod that preempts takes the room of units below it that are left.
    """
    where, rows = question.view.where, [pod for unit in plan.victims for pod in unit.pods]
    on_one_node = len({*where[rows].tolist(), *plan.placement.nodes}) == 1
    if on_one_node and plan.costs_by(CASCADE) == NOWHERE_TO_GO * len(plan.victims):
        return Onward(0, 0, len(rows))  # elsewhere, nothing is different without them
    remaining, found = _Remaining(question, plan), Counter[int]()
    if not remaining.has_room():
        return Onward(0, 0, len(rows))
    for unit, others in remaining.victims():
        for kind, pods in groupby(unit.pods, key=remaining.kind):
            found.update(remaining.go(unit, kind, len(list(pods)), others))
    return Onward(found[FITS], found[PREEMPTS], found[NOWHERE_TO_GO])


class _Remaining:
    """The cluster without the victims and with the demand, which fills up."""

    def __init__(self, question: Question, plan: Plan) -> None:
        view, gone = question.view, [pod for unit in plan.victims for pod in unit.pods]
        places = np.array(plan.places, np.int64).reshape(-1, 2)  # [member] its row, and that of its node
        after = moved(without(view, gone), places[:, 0], places[:, 1])
        self._question, self._victims, self._where = question, plan.victims, view.where
        self._capacity = _Capacity(replace(question, view=after), lambda: question.policy.units(after))
        # [resource, node] less than zero where a pod has taken the room of lower units: what they free is
        # then found smaller by that, and is not taken twice.
        self._left = self._capacity.left(_NONE_BELOW).copy()
        self._by_name = np.argsort(view.nodes.rank)  # the rows of nodes in the order of their names
        self.kind = self._capacity.kind

    def has_room(self) -> bool:
        """Whether any node has some for the smallest victim, if units of lower priority went as well."""
        rows = [pod for unit in self._victims for pod in unit.pods]
        smallest = self._question.view.pods.requests[:, rows].min(axis=1, initial=_HIGHEST)
        own = max((u.priority if u.scheduling is None else u.scheduling for u in self._victims), default=0)
        return any(self._capacity.has_room(smallest, below) for below in (_NONE_BELOW, own))

    def victims(self) -> Iterator[tuple[Unit, Mask]]:
        """The victims, each with the nodes ([node]) that it is not on."""
        for unit in self._victims:
            others = np.ones(self._left.shape[1], np.bool_)
            others[self._where[list(unit.pods)]] = False
            yield unit, others

    def go(self, unit: Unit, kind: _Kind, count: int, others: Mask) -> dict[int, int]:
        """Place so many equal pods, and count them by class: the first nodes by name are filled up."""
        found = {FITS: self._fill(kind, self._left, count, others)}
        count -= found[FITS]
        if count:
            own = unit.priority if unit.scheduling is None else unit.scheduling
            left = self._left + self._capacity.freed(own)
            found[PREEMPTS] = self._fill(kind, left, count, others)
            found[NOWHERE_TO_GO] = count - found[PREEMPTS]
        return found

    def _fill(self, kind: _Kind, left: Ints, count: int, others: Mask) -> int:
        """Take room for as many of these pods as fit into so much ([resource, node]), and count them."""
        # Both in the order of names: the seats of each node, and of all nodes before it.
        seats = np.where(others, np.minimum(self._capacity.fitting(kind, left), count), 0)[self._by_name]
        before = np.cumsum(seats) - seats
        some = np.flatnonzero((seats > 0) & (before < count))
        taken = np.minimum(count - before[some], seats[some])
        self._left[:, self._by_name[some]] -= np.frombuffer(kind[0], np.int64)[:, None] * taken
        return int(taken.sum())


class _Classes:
    """Units in columns: each kind of pod is looked at once for each priority, and not for each unit.

    A unit is named by its place in ``numbers``; ``[unit]`` is by that place.
    """

    def __init__(self, capacity: "_Capacity", units: Units, numbers: Ints) -> None:
        self._capacity, self._priority = capacity, units.scheduling[numbers]
        pods = units.pods_of(numbers)
        place_of = np.full(len(units.priority), NOWHERE)
        place_of[numbers] = np.arange(len(numbers))
        unit = place_of[units.of_pod[pods]]  # [pod of these units]
        self._kinds, codes = capacity.kinds(pods)
        # [entry] one for each kind of pods in each unit, and how many of its pods are of the kind. Unit and
        # kind are one number, which sorts by unit.
        width, nodes = len(self._kinds), len(units.view.nodes)
        pairs, self._count = np.unique(unit * width + codes, return_counts=True)
        self._unit, self._kind = pairs // width, pairs % width
        # The nodes of all units, unit by unit: [unit] where its part of the list begins, and how long it is.
        on, self._node = np.divmod(np.unique(unit * nodes + units.view.where[pods]), nodes)
        bounds = np.searchsorted(on, np.arange(len(numbers) + 1))
        self._first, self._spans = bounds[:-1], np.diff(bounds)

    def found(self) -> Ints:
        """[unit] the class."""
        fits = self._has_seats(np.full(len(self._priority), _NONE_BELOW), np.ones_like(self._unit, np.bool_))
        others = ~fits & (self._priority > self._capacity.lowest)
        preempts = others & self._has_seats(self._priority, others[self._unit])
        return np.select([fits, preempts], [FITS, PREEMPTS], NOWHERE_TO_GO)

    def _has_seats(self, below: Ints, asked: Mask) -> Mask:
        """[unit] whether its pods have seats off its nodes, if all units of a lower priority were gone.

        Each kind of pod is given all the room, as if the unit had no other.

        below  [unit]   units of a priority below this are gone
        asked  [entry]  the others are not looked at
        """
        enough = np.ones(len(self._priority), np.bool_)
        order = np.flatnonzero(asked)
        order = order[np.lexsort((below[self._unit[order]], self._kind[order]))]
        kind, lower = self._kind[order], below[self._unit[order]]
        begins = np.flatnonzero((np.diff(kind, prepend=NOWHERE) != 0) | (np.diff(lower, prepend=0) != 0))
        widest, largest = self._spans.max(), self._count.max()
        # The kind that has seats for every unit, on however many of the best nodes it runs. Its next entries
        # have more units gone, and no fewer seats.
        settled = NOWHERE
        for begin, end in pairwise([*begins.tolist(), len(order)]):
            code, priority, entries = int(kind[begin]), int(lower[begin]), order[begin:end]
            if code == settled:
                continue
            seats = self._capacity.seats(self._kinds[code], priority)
            units, total = self._unit[entries], int(seats.sum())
            # A unit has one entry of a kind: these units are distinct.
            enough[units] &= total - self._own(seats, units) >= self._count[entries]
            if total - seats.max(initial=0) * widest >= largest:
                settled = code
        return enough

    def _own(self, seats: Ints, units: Ints) -> Ints:
        """The seats on its own nodes, for each of these units."""
        # ``entries``: the parts of these units in the list of nodes, one after the other. None is empty, as
        # reduceat requires: a unit with an entry has a pod that runs.
        spans = self._spans[units]
        ends = np.cumsum(spans)
        entries = np.repeat(self._first[units] - (ends - spans), spans) + np.arange(ends[-1])
        return np.add.reduceat(seats[self._node[entries]], ends - spans)


class _Capacity:
    """How many pods of each kind each node could take, as it is and without units of lower priorities."""

    def __init__(self, question: Question, units: Callable[[], Units]) -> None:
        """``units``: made only if free room does not suffice."""
        view = question.view
        self._question, self._make_units = question, units
        # [resource] what a profile ignores is no room
        self._counted = np.array([not is_ignored(n, question.profile) for n in view.axis.names], np.bool_)
        self._left = {_NONE_BELOW: view.allocatable - view.requested}  # see ``left``
        self._nodes_of: dict[object, bytes] = {}
        self._kind_of: dict[int, _Kind] = {}  # by the code of a shape: pods of one template share it
        self._ties_all = any(default.required for default in question.profile.default_spread)
        self.seats, self._times = cache(self._seats), cache(self._how_often)

    @cached_property
    def _units(self) -> Units:
        return self._make_units()

    @cached_property
    def lowest(self) -> int:
        """The lowest priority of a unit that runs."""
        units = self._units
        return int(np.minimum.reduce(units.priority, where=units.size > 0, initial=_HIGHEST))

    def _seats(self, kind: _Kind, below: int) -> Ints:
        """[node] how many pods of a kind fit there."""
        return self._fitting(kind, partial(self._times, below))

    def _how_often(self, below: int, row: int, need: int) -> Ints:
        """[node] how often so much of a resource is left. There are far more kinds than amounts."""
        times: Ints = self.left(below)[row] // need
        return times

    def fitting(self, kind: _Kind, left: Ints) -> Ints:
        """[node] how many pods of a kind fit into so much ([resource, node])."""
        return self._fitting(kind, lambda row, need: left[row] // need)

    def _fitting(self, kind: _Kind, times: Callable[[int, int], Ints]) -> Ints:
        """``times``: [node] how often so much (2nd) of a resource (row) is left."""
        needs, nodes = np.frombuffer(kind[0], np.int64), np.frombuffer(kind[1], np.bool_)
        # No more than there are: of pods that request nothing, any number would fit.
        fits = np.full(len(nodes), len(self._question.view.pods))
        for row in np.flatnonzero((needs > 0) & self._counted).tolist():
            np.minimum(fits, times(row, int(needs[row])), out=fits)
        return np.where(nodes, np.maximum(fits, 0), 0)

    def has_room(self, needs: Ints, below: int) -> bool:
        """Whether any node has so much ([resource]), whatever else a pod asks of its node."""
        asked = (needs > 0) & self._counted
        return bool((self.left(below)[asked] >= needs[asked, None]).all(axis=0).any())

    def freed(self, below: int) -> Ints:
        """[resource, node] what units of a lower priority use."""
        return self.left(below) - self._left[_NONE_BELOW]

    def kinds(self, pods: Ints) -> tuple[list[_Kind], Ints]:
        """The kinds of these pods, and the place of each pod's in that list."""
        # Pods of one template share a shape: there are few, and the kind of each is found once.
        shapes = self._question.view.pods.shapes.codes[pods]
        _, firsts, shape_of = np.unique(shapes, return_index=True, return_inverse=True)
        codes: dict[_Kind, int] = {}
        of_shape = [codes.setdefault(self.kind(pod), len(codes)) for pod in pods[firsts].tolist()]
        return list(codes), np.array(of_shape, np.int64)[shape_of]

    def _is_tied(self, shape: Shape) -> bool:
        """Whether other pods may decide which nodes it can use, apart from terms that select it."""
        between_pods = shape.affinity or shape.anti_affinity or shape.spread or shape.ports
        return bool(between_pods or shape.claims or shape.disks or shape.inline_volumes or self._ties_all)

    def _beyond_room(self, shape: Shape) -> object:
        """Pods for which this is equal may use the same nodes, apart from room."""
        looked_at = self._question.view.pods.looked_at
        labels = tuple(pair for pair in shape.labels if pair[0] in looked_at) if looked_at else ()
        nodes = None if shape.nodes is ANYWHERE or shape.nodes == ANYWHERE else shape.nodes
        return shape.namespace, labels, nodes, shape.tolerations, shape.features

    def _name(self, pod: int) -> tuple[str, str]:
        meta = self._question.view.pods.compiled[pod].pod.metadata
        return meta.namespace, meta.name

    def kind(self, pod: int) -> _Kind:
        view = self._question.view
        code, shape = view.pods.shapes.codes.item(pod), view.pods.shape(pod)
        found = self._kind_of.get(code)
        if found is None and self._is_tied(shape):
            # What other pods allow depends on which pod asks: the first by name, never by row.
            first = min(self._pods_by_shape[code], key=self._name)
            found = view.pods.requests[:, pod].tobytes(), self._nodes(first).tobytes()
        elif found is None:
            key = self._beyond_room(shape)
            if key not in self._nodes_of:
                self._nodes_of[key] = self._nodes(pod).tobytes()
            found = view.pods.requests[:, pod].tobytes(), self._nodes_of[key]
        self._kind_of[code] = found
        return found

    @cached_property
    def _pods_by_shape(self) -> dict[int, list[int]]:
        """All pods, also those that nothing is asked about: else it would matter what is asked together."""
        pods_of: dict[int, list[int]] = {}
        for row, code in enumerate(self._question.view.pods.shapes.codes.tolist()):
            pods_of.setdefault(code, []).append(row)
        return pods_of

    def _nodes(self, pod: int) -> Mask:
        """[node] whether all constraints but room allow it."""
        view, profile = self._question.view, self._question.profile
        ask, nodes = Ask(view, pod, profile), np.ones(len(view.nodes), np.bool_)
        for constraint in constraints_under(profile):
            for rejection in constraint(ask) if constraint is not resources else ():
                nodes &= ~rejection.rows
        return nodes

    def left(self, priority: int) -> Ints:
        """[resource, node] what is left if all units of a lower priority are gone."""
        if priority not in self._left:
            view, of_pod = self._question.view, self._units.of_pod
            lower = of_pod != NOWHERE  # [pod]
            lower[lower] = self._units.priority[of_pod[lower]] < priority
            rows = np.flatnonzero(lower)
            freed = sums_by_node(view.pods.requests[:, rows], view.where[rows], len(view.nodes))
            self._left[priority] = self._left[_NONE_BELOW] + freed
        return self._left[priority]
