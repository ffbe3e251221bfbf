"""Where would the pods of a unit go if it were evicted? One fixed number for each unit, as if it went alone.

The nodes that it runs on are left out: the demand takes the room there. What other victims leave, and where
their replacements go, is not considered; so the number can enter a sum. For a plan, ``onward`` does consider
it: no number of a single unit, so that it is reported and no criterion.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
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

FITS, PREEMPTS, NOWHERE_TO_GO = range(3)
_NONE_BELOW = -(1 << 63)  # no unit has a lower priority
_HIGHEST = (1 << 63) - 1

_Kind = tuple[bytes, bytes]  # what a pod requests, and the nodes that it may use


class Cascades:
    """Of units that are asked for one after the other: what is known of equal pods is not computed again."""

    def __init__(self, question: Question, units: Units) -> None:
        self._units, self._picture = units, _Picture(question, lambda: units)

    def of(self, numbers: Ints) -> Ints:
        """[unit] 0 if its pods fit in free room, 1 if only by preempting others, 2 if nowhere.

        0 also for all but these units.
        """
        found = np.zeros(len(self._units.priority), np.int64)
        if len(numbers):
            found[numbers] = _Classes(self._picture, self._units, numbers).found()
        return found

    def at_least(self, allowed: Mask) -> int:
        """No unit of these has a lower number: as if all pods were as small as the smallest, could run on any
        node, and had the highest priority."""
        units, picture, some = self._units, self._picture, allowed & (self._units.size > 0)
        if not some.any():
            return FITS
        # Those of all pods that run: they are read in one go, and bound what is asked about.
        running = units.of_pod != NOWHERE
        smallest = np.where(running, units.view.pods.requests, _HIGHEST).min(axis=1)
        kind = smallest.tobytes(), np.ones(len(units.view.nodes), np.bool_).tobytes()
        if picture.seats(kind, _NONE_BELOW).any():
            return FITS
        highest = int(np.maximum.reduce(units.scheduling, where=some, initial=-_HIGHEST))
        preempts = highest > picture.lowest and bool(picture.seats(kind, highest).any())
        return PREEMPTS if preempts else NOWHERE_TO_GO


def onward(question: Question, plan: Plan) -> Onward:
    """Where the victims of a plan go, the most important first, each off the nodes of its own unit.

    The demand is in its place. A pod that preempts takes the room of units below it that are left.
    """
    where, rows = question.view.where, [pod for unit in plan.victims for pod in unit.pods]
    on_one_node = len({*where[rows].tolist(), *plan.placement.nodes}) == 1
    if on_one_node and plan.costs_by(CASCADE) == NOWHERE_TO_GO * len(plan.victims):
        return Onward(0, 0, len(rows))  # elsewhere, nothing is different without them
    picture, found = _Remaining(question, plan), Counter[int]()
    if not picture.has_room():
        return Onward(0, 0, len(rows))
    for unit, others in picture.victims():
        for kind, pods in groupby(unit.pods, key=picture.kind):
            found.update(picture.go(unit, kind, len(list(pods)), others))
    return Onward(found[FITS], found[PREEMPTS], found[NOWHERE_TO_GO])


class _Remaining:
    """The cluster without the victims and with the demand, which fills up."""

    def __init__(self, question: Question, plan: Plan) -> None:
        view, gone = question.view, [pod for unit in plan.victims for pod in unit.pods]
        places = np.array(plan.places, np.int64).reshape(-1, 2)
        after = moved(without(view, gone), places[:, 0], places[:, 1])
        self._question, self._victims, self._where = question, plan.victims, view.where
        self._picture = _Picture(replace(question, view=after), lambda: question.policy.units(after))
        self._left = self._picture.left(_NONE_BELOW).copy()
        self._by_name = np.argsort(view.nodes.rank)
        self.kind = self._picture.kind

    def has_room(self) -> bool:
        """Whether any node has some for the smallest victim, if units of lower priority went as well."""
        rows = [pod for unit in self._victims for pod in unit.pods]
        smallest = self._question.view.pods.requests[:, rows].min(axis=1, initial=_HIGHEST)
        kind = smallest.tobytes(), np.ones(self._left.shape[1], np.bool_).tobytes()
        own = max((u.priority if u.scheduling is None else u.scheduling for u in self._victims), default=0)
        return bool(self._picture.seats(kind, own).any())

    def victims(self) -> Iterator[tuple[Unit, Mask]]:
        """With the nodes that each is not on."""
        for unit in self._victims:
            others = np.ones(self._left.shape[1], np.bool_)
            others[self._where[list(unit.pods)]] = False
            yield unit, others

    def go(self, unit: Unit, kind: _Kind, count: int, others: Mask) -> dict[int, int]:
        """How many of so many equal pods find room, and how: the first nodes by name are filled up."""
        found = {FITS: self._fill(kind, self._left, count, others)}
        count -= found[FITS]
        if count:
            own = unit.priority if unit.scheduling is None else unit.scheduling
            left = self._left + self._picture.freed(own)
            found[PREEMPTS] = self._fill(kind, left, count, others)
            found[NOWHERE_TO_GO] = count - found[PREEMPTS]
        return found

    def _fill(self, kind: _Kind, left: Ints, count: int, others: Mask) -> int:
        """Takes room for as many of these pods as fit into so much; says for how many."""
        seats = np.where(others, np.minimum(self._picture.fitting(kind, left), count), 0)[self._by_name]
        before = np.cumsum(seats) - seats
        some = np.flatnonzero((seats > 0) & (before < count))
        taken = np.minimum(count - before[some], seats[some])
        self._left[:, self._by_name[some]] -= np.frombuffer(kind[0], np.int64)[:, None] * taken
        return int(taken.sum())


class _Classes:
    """Units in columns: each kind of pod is looked at once for each priority, and not for each unit."""

    def __init__(self, picture: "_Picture", units: Units, numbers: Ints) -> None:
        self._picture, self._priority = picture, units.scheduling[numbers]
        pods = units.pods_of(numbers)
        place_of = np.full(len(units.priority), NOWHERE)
        place_of[numbers] = np.arange(len(numbers))
        unit = place_of[units.of_pod[pods]]
        self._kinds, codes = picture.kinds(pods)
        # Entries: which kinds of pods each unit has, and how many.
        width, nodes = len(self._kinds), len(units.view.nodes)
        pairs, self._count = np.unique(unit * width + codes, return_counts=True)
        self._unit, self._kind = pairs // width, pairs % width
        # Which nodes each unit is on, and where its part of that list begins and ends.
        on, self._node = np.divmod(np.unique(unit * nodes + units.view.where[pods]), nodes)
        bounds = np.searchsorted(on, np.arange(len(numbers) + 1))
        self._first, self._spans = bounds[:-1], np.diff(bounds)

    def found(self) -> Ints:
        fits = self._has_seats(np.full(len(self._priority), _NONE_BELOW), np.ones_like(self._unit, np.bool_))
        others = ~fits & (self._priority > self._picture.lowest)
        preempts = others & self._has_seats(self._priority, others[self._unit])
        return np.select([fits, preempts], [FITS, PREEMPTS], NOWHERE_TO_GO)

    def _has_seats(self, below: Ints, asked: Mask) -> Mask:
        """[unit] whether its pods have seats off its nodes, if units of a priority below so much were gone.

        Each kind of pod is given all the room. ``asked``: entries.
        """
        enough = np.ones(len(self._priority), np.bool_)
        order = np.flatnonzero(asked)
        order = order[np.lexsort((below[self._unit[order]], self._kind[order]))]
        kind, lower = self._kind[order], below[self._unit[order]]
        begins = np.flatnonzero((np.diff(kind, prepend=NOWHERE) != 0) | (np.diff(lower, prepend=0) != 0))
        widest, largest = self._spans.max(), self._count.max()
        settled = NOWHERE  # a kind that has seats for all units; without more units gone, it still has
        for begin, end in pairwise([*begins.tolist(), len(order)]):
            code, priority, entries = int(kind[begin]), int(lower[begin]), order[begin:end]
            if code == settled:
                continue
            seats = self._picture.seats(self._kinds[code], priority)
            units, total = self._unit[entries], int(seats.sum())
            enough[units] &= total - self._own(seats, units) >= self._count[entries]
            if total - seats.max(initial=0) * widest >= largest:
                settled = code
        return enough

    def _own(self, seats: Ints, units: Ints) -> Ints:
        """[unit] the seats on its own nodes."""
        spans = self._spans[units]
        ends = np.cumsum(spans)
        entries = np.repeat(self._first[units] - (ends - spans), spans) + np.arange(ends[-1])
        return np.add.reduceat(seats[self._node[entries]], ends - spans)


class _Picture:
    """How many pods of each kind each node could take, as it is and without units of lower priorities."""

    def __init__(self, question: Question, units: Callable[[], Units]) -> None:
        """``units``: made only if free room does not suffice."""
        view = question.view
        self._question, self._make_units = question, units
        self._counted = np.array([not is_ignored(n, question.profile) for n in view.axis.names], np.bool_)
        self._left = {_NONE_BELOW: view.allocatable - view.requested}
        self._nodes_of: dict[object, bytes] = {}
        self._kind_of: dict[int, _Kind] = {}  # by the identity of a shape: pods of one template share it
        self._ties_all = any(default.required for default in question.profile.default_spread)
        self.seats = cache(self._seats)

    @cached_property
    def _units(self) -> Units:
        return self._make_units()

    @cached_property
    def lowest(self) -> int:
        """Of all priorities."""
        units = self._units
        return int(np.minimum.reduce(units.priority, where=units.size > 0, initial=_HIGHEST))

    def _seats(self, kind: _Kind, below: int) -> Ints:
        """[node] how many pods of a kind fit there."""
        return self.fitting(kind, self.left(below))

    def fitting(self, kind: _Kind, left: Ints) -> Ints:
        """[node] how many pods of a kind fit into so much."""
        needs, nodes = np.frombuffer(kind[0], np.int64), np.frombuffer(kind[1], np.bool_)
        fits = np.full(len(nodes), len(self._question.view.pods))
        for row in np.flatnonzero((needs > 0) & self._counted).tolist():
            np.minimum(fits, left[row] // int(needs[row]), out=fits)
        return np.where(nodes, np.maximum(fits, 0), 0)

    def freed(self, below: int) -> Ints:
        """What units of a lower priority use."""
        return self.left(below) - self._left[_NONE_BELOW]

    def kinds(self, pods: Ints) -> tuple[list[_Kind], Ints]:
        """The kinds of these pods, and which of them each pod is."""
        compiled = self._question.view.pods.compiled
        shapes = np.fromiter((id(compiled[pod].shape) for pod in pods.tolist()), np.int64, len(pods))
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
        shape = view.pods.shape(pod)
        found = self._kind_of.get(id(shape))
        if found is None and self._is_tied(shape):
            # What other pods allow depends on which pod asks: the first by name, never by row.
            first = min(self._pods_by_shape[id(shape)], key=self._name)
            found = view.pods.requests[:, pod].tobytes(), self._nodes(first).tobytes()
            self._kind_of[id(shape)] = found
        elif found is None:
            key = self._beyond_room(shape)
            if key not in self._nodes_of:
                self._nodes_of[key] = self._nodes(pod).tobytes()
            found = self._kind_of[id(shape)] = view.pods.requests[:, pod].tobytes(), self._nodes_of[key]
        return found

    @cached_property
    def _pods_by_shape(self) -> dict[int, list[int]]:
        """All pods, also those that nothing is asked about: else it would matter what is asked together."""
        pods_of: dict[int, list[int]] = {}
        for row, compiled in enumerate(self._question.view.pods.compiled):
            pods_of.setdefault(id(compiled.shape), []).append(row)
        return pods_of

    def _nodes(self, pod: int) -> Mask:
        """The nodes that all constraints but room allow."""
        view, profile = self._question.view, self._question.profile
        ask, nodes = Ask(view, pod, profile), np.ones(len(view.nodes), np.bool_)
        for constraint in constraints_under(profile):
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
            freed = sums_by_node(view.pods.requests[:, rows], view.where[rows], len(view.nodes))
            self._left[priority] = self._left[_NONE_BELOW] + freed
        return self._left[priority]
