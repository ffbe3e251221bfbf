"""Stands in for the solver within a decision: looks up what a solver found before, and notes what to ask it.

So a decision stays a function of a snapshot, a time and what was found, and no search makes it take long. An
answer counts in full, with its bound and its proof, for the very room that was solved; in any other room it
is a hint: a plan that is compared with the first one if it still makes enough room.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from reprieve.model.events import Improvement
from reprieve.model.objects import ObjectKey
from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.improve import Improve, Improved, Solution
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.least_disturbance.solver_task import NamedRoom, room_of
from reprieve.preemption.plan import Quality
from reprieve.preemption.units import Units


def not_at_all(_: Units) -> Improve:
    """The first plan is the plan."""
    return lambda _, start, __: Improved(start)


def busy(_: Units) -> Improve:
    """The first plan is the plan, and it counts as unanswered that a solver was not asked."""

    def improve(_: RoomModel, start: Solution | None, effort: Effort) -> Improved:
        effort.fell_short = effort.unanswered = True
        return Improved(start)

    return improve


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a decision found in one domain before it asked for a better plan: the next need not search again.

    The next decision checks it, and the answers of the solver, in the cluster as it is then. Everything is by
    name: rows change with every event.
    """

    victims: tuple[str, ...]  # units
    places: tuple[tuple[ObjectKey, str], ...]  # members and nodes, in an order that can be used
    quality: Quality
    solved: float  # the priority up to which units were in the room that the solver was handed
    target: int  # how many members must get room
    spent: int  # effort, before the room was searched
    left: Mapping[str, Sequence[int]]  # by node, what was left of each resource that members request

    @property
    def cost(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.quality.cost)

    @property
    def ceiling_cost(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.quality.ceiling_cost)


@dataclass(slots=True, eq=False)
class Deferral:
    """What one decision asks, and what was answered. ``patience``: how many seconds answers may take."""

    patience: float
    answers: Sequence[Improvement] = ()
    earlier: Mapping[str, Remembered] = field(default_factory=dict)  # by domain: what these are answers to
    asked: dict[str, bytes] = field(default_factory=dict)  # tasks, by the fingerprint of their model
    rooms: list[tuple[str, float]] = field(default_factory=list)  # asked: fingerprint, highest priority
    noted: dict[str, Remembered] = field(default_factory=dict)  # by domain, for the next decision

    def improving(self, units: Units) -> Improve:
        return partial(self._improved, units)

    def _improved(self, units: Units, model: RoomModel, start: Solution | None, effort: Effort) -> Improved:
        room = room_of(model, units)
        fingerprint = room.fingerprint
        answer = next((one for one in self.answers if one.model == fingerprint), None)
        if answer is None:
            self.asked[fingerprint] = room.task(start)
            self.rooms.append((fingerprint, max((item.priority for item in model.items), default=-math.inf)))
            effort.fell_short = effort.unanswered = True  # of this room nothing is proved
            return Improved(self._best(room, start), awaited=True)
        effort.spent = min(effort.units, effort.spent + answer.effort)
        effort.fell_short |= answer.fell_short
        bound = tuple(-math.inf if value is None else value for value in answer.bound)
        return Improved(self._best(room, start), bound, answer.proved, answer.infeasible)

    def known_of(self, room: NamedRoom, first: Remembered, effort: Effort) -> Improved:
        """What is known of a room by the answer about it, or else without a solver."""
        answer = next((one for one in self.answers if one.model == room.fingerprint), None)
        effort.spent = max(effort.spent, first.spent)
        if answer is None:
            effort.fell_short = effort.unanswered = True
            return Improved(None)
        effort.spent = min(effort.units, effort.spent + answer.effort)
        effort.fell_short |= answer.fell_short
        bound = tuple(-math.inf if value is None else value for value in answer.bound)
        return Improved(None, bound, answer.proved)

    def _best(self, room: NamedRoom, start: Solution | None) -> Solution | None:
        """The best of the first plan and of all that a solver found, as far as it holds in this room."""
        model = room.model
        found = [start] if start is not None else []
        found += [one for one in map(room.solution, self.answers) if one is not None and _holds(model, one)]
        return min(found, key=lambda one: model.cost(model.counts_of(one.units) or {}), default=None)


def _holds(model: RoomModel, one: Solution) -> bool:
    counts = model.counts_of(one.units)
    return counts is not None and model.permits(counts) and model.has_room(counts, one.seats)
