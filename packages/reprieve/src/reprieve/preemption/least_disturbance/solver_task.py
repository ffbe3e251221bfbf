"""A model as bytes for a solver in whatever process, with names in place of rows, and the answer by name.

The same room has the same bytes whatever the rows are, so that an answer can be matched with a later
snapshot.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec
import numpy as np

from reprieve.model.effects import Target
from reprieve.model.events import Improvement, PlanImproved
from reprieve.placement.effort import Effort, unlimited
from reprieve.preemption.gangs import GroupNeeds
from reprieve.preemption.least_disturbance.improve import Improved, Solution, improved
from reprieve.preemption.least_disturbance.model import Amounts, Item, RoomModel, Seats, Shares, Term
from reprieve.preemption.units import Units

_NamedSeats = tuple[tuple[str, int, int], ...]


class _Item(msgspec.Struct, frozen=True, array_like=True, gc=False):
    starts: tuple[float | None, ...]  # None: it has not started
    priority: int
    prices: tuple[int, ...]
    footprint: tuple[tuple[int, Amounts], ...]
    budgets: Shares
    group: int
    pods: int


class _Groups(msgspec.Struct, frozen=True, array_like=True):
    running: tuple[int, ...]
    slack: tuple[int, ...]
    parent: tuple[int, ...]
    ends: tuple[bool, ...]


class _Room(msgspec.Struct, frozen=True, array_like=True):
    order: tuple[Term, ...]
    needs: tuple[Amounts, ...]
    members: tuple[int, ...]
    target: int
    left: tuple[Amounts, ...]
    usable_by: tuple[tuple[int, ...], ...]
    items: tuple[_Item, ...]
    allowances: tuple[int, ...]
    groups: _Groups
    shape_of: tuple[int, ...]
    breaks_no_budget: bool
    is_exact: bool
    barred: tuple[tuple[int, ...], ...]  # places in the list of names
    units: tuple[str, ...]  # the names of the units of all items, in their order
    nodes: tuple[str, ...]


class _Task(msgspec.Struct, frozen=True, array_like=True):
    """``start``: the units of a plan that is known, and its seats."""

    room: msgspec.Raw
    start: tuple[tuple[str, ...], _NamedSeats] | None


_ROOM, _TASK = msgspec.msgpack.Decoder(_Room), msgspec.msgpack.Decoder(_Task)


@dataclass(frozen=True, slots=True, eq=False)
class NamedRoom:
    """A model, the names of its units and nodes, and both as bytes."""

    model: RoomModel
    units: Mapping[str, int]
    nodes: Mapping[str, int]  # places in the model, not rows
    encoded: bytes

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.encoded)

    def task(self, start: Solution | None) -> bytes:
        """What a solver is told: the room, and a plan that is known."""
        known = None
        if start is not None:
            names = {number: name for name, number in self.units.items()}
            known = tuple(names[unit] for unit in start.units), _named(start.seats, list(self.nodes))
        return msgspec.msgpack.encode(_Task(msgspec.Raw(self.encoded), known))

    def seats(self, found: Improvement) -> list[tuple[int, int]] | None:
        """Members (positions) and nodes (rows) of what was found; None if a node is not in the model."""
        if not all(node in self.nodes for node, _, _ in found.seats):
            return None
        return self.model.nodes_for({(self.nodes[node], shape): n for node, shape, n in found.seats})

    def solution(self, found: Improvement) -> Solution | None:
        """What was found, in rows of this model; None if the model does not have it."""
        return _solution(found.units, found.seats, self.units, self.nodes)


def room_of(model: RoomModel, units: Units) -> NamedRoom:
    numbers = np.array([number for item in model.items for number in item.units], np.int64)
    return named_room(model, units.names(numbers), [units.view.nodes.names[row] for row in model.nodes])


def named_room(model: RoomModel, names: Sequence[str], nodes: Sequence[str]) -> NamedRoom:
    """``names``: of the units of all items, in their order. ``nodes``: those of the model."""
    numbers = [number for item in model.items for number in item.units]
    place_of, groups = {number: place for place, number in enumerate(numbers)}, model.groups
    room = _Room(
        model.order,
        model.needs,
        model.members,
        model.target,
        model.left,
        model.usable_by,
        tuple(map(_item, model.items)),
        model.allowances,
        _Groups(groups.running, groups.slack, groups.parent, groups.ends),
        model.shape_of,
        model.breaks_no_budget,
        model.is_exact,
        tuple(tuple(place_of[unit] for unit in units if unit in place_of) for units in model.barred),
        tuple(names),
        tuple(nodes),
    )
    by_name = dict(zip(names, numbers, strict=True))
    places = {name: place for place, name in enumerate(nodes)}
    return NamedRoom(model, by_name, places, msgspec.msgpack.encode(room))


def _item(item: Item) -> _Item:
    starts = tuple(start if math.isfinite(start) else None for start in item.starts)
    own = item.prices, item.footprint, item.budgets, item.group, item.pods
    return _Item(starts, item.priority, *own)


def _fingerprint(encoded: bytes) -> str:
    return blake2b(encoded, digest_size=16).hexdigest()


# --- where it is solved --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImprovePlan:
    """A request for a better plan. Nothing is done to the cluster; it is answered by `PlanImproved`."""

    demand: Target
    id: str  # of the decision that asks
    tasks: tuple[bytes, ...] = field(repr=False)  # models of the room
    effort: int  # work units, for all tasks together
    shared: bool  # each task may spend a part of what is left of the effort; otherwise all that is left
    patience: float  # seconds after which the answer is not needed any more


class _Message(msgspec.Struct, frozen=True, array_like=True):
    tasks: tuple[bytes, ...]
    effort: int
    shared: bool
    seconds: float


def message_of(request: ImprovePlan) -> bytes:
    return msgspec.msgpack.encode(
        _Message(request.tasks, request.effort, request.shared, float(request.patience))
    )


def limited_to(message: bytes, effort: int) -> bytes:
    """The message with no more effort than this."""
    asked = _MESSAGE.decode(message)
    return msgspec.msgpack.encode(
        _Message(asked.tasks, min(asked.effort, effort), asked.shared, asked.seconds)
    )


_MESSAGE = msgspec.msgpack.Decoder(_Message)
_ANSWER = msgspec.msgpack.Decoder(tuple[Improvement, ...])


def seconds_for(message: bytes) -> float:
    """How long the answer is waited for."""
    return _MESSAGE.decode(message).seconds


def solved(message: bytes, seconds_left: Callable[[], float] = unlimited) -> bytes:
    """The answer to a message. It is a function of the message alone, unless the time ends before the effort:
    then it is the best that was found until then."""
    asked = _MESSAGE.decode(message)
    effort = Effort(asked.effort, seconds_left=seconds_left)
    found = []
    for task in asked.tasks:
        lent = effort.lent(all_of_it=not asked.shared)
        found.append(_solved(task, lent))
        effort.returned(lent)
    return msgspec.msgpack.encode(found)


def answer_of(request: ImprovePlan, answer: bytes) -> PlanImproved:
    return PlanImproved(request.demand, request.id, _ANSWER.decode(answer))


def spent_on(answer: bytes) -> int:
    """The effort of all tasks."""
    return sum(found.effort for found in _ANSWER.decode(answer))


def _solved(task: bytes, effort: Effort) -> Improvement:
    told = _TASK.decode(task)
    encoded = bytes(told.room)
    room = _ROOM.decode(encoded)
    model = _model_of(room)
    nodes = {name: place for place, name in enumerate(room.nodes)}
    numbers = {name: number for number, name in enumerate(room.units)}
    start = _solution(told.start[0], told.start[1], numbers, nodes) if told.start is not None else None
    found = improved(model, start, effort) if effort.units > effort.spent else Improved(start)
    best = found.best
    return Improvement(
        _fingerprint(encoded),
        tuple(room.units[unit] for unit in best.units) if best is not None else None,
        _named(best.seats, room.nodes) if best is not None else (),
        tuple(value if math.isfinite(value) else None for value in found.bound),
        found.proved,
        found.infeasible,
        effort.spent,
        effort.fell_short,
    )


def _model_of(room: _Room) -> RoomModel:
    """Units and nodes have the numbers of their places in the lists of names."""
    items, first = [], 0
    for i in room.items:
        units = tuple(range(first, first + len(i.starts)))
        starts = tuple(math.inf if start is None else start for start in i.starts)
        items.append(Item(units, starts, i.priority, i.prices, i.footprint, i.budgets, i.group, i.pods))
        first += len(units)
    return RoomModel(
        room.order,
        room.needs,
        room.members,
        room.target,
        room.left,
        room.usable_by,
        tuple(range(len(room.nodes))),
        tuple(items),
        room.allowances,
        GroupNeeds(np.zeros(0, np.int64), *msgspec.structs.astuple(room.groups)),
        room.shape_of,
        room.breaks_no_budget,
        room.is_exact,
        room.barred,
    )


# --- names ---------------------------------------------------------------------------------------


def _named(seats: Seats, nodes: Sequence[str]) -> _NamedSeats:
    return tuple((nodes[node], shape, count) for (node, shape), count in sorted(seats.items()))


def _solution(
    units: tuple[str, ...] | None, seats: _NamedSeats, numbers: Mapping[str, int], nodes: Mapping[str, int]
) -> Solution | None:
    if units is None or not all(unit in numbers for unit in units):
        return None
    if not all(node in nodes for node, _, _ in seats):
        return None
    return Solution(
        tuple(sorted(numbers[unit] for unit in units)),
        {(nodes[node], shape): count for node, shape, count in seats},
    )
