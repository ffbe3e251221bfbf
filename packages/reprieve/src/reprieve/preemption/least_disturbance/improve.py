"""A better plan, and a proof: the integer program is solved term by term, each within the best of
those before it.

Within a decision the solver is stopped at a number of its steps and never at a time, so that the same input
has the same result on any machine. It is loaded when it is first needed: a scheduler that does not use it
pays nothing for it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.model import Costs, Measure, RoomModel, Seats
from reprieve.preemption.least_disturbance.program import Program, TooLargeError, program_of


@dataclass(frozen=True, slots=True)
class Solution:
    units: tuple[int, ...]  # that are evicted
    seats: Seats  # where members of several shapes go


@dataclass(frozen=True, slots=True)
class Improved:
    """The best that was found; what is known to be the least; and whether they are the same."""

    best: Solution | None
    bound: tuple[float, ...] = ()  # by criterion, as far as it is known: no plan is smaller
    proved: bool = False
    infeasible: bool = False  # proved: the members get no room, whatever is evicted
    awaited: bool = False  # a solver was asked, and says more later


# Makes a plan better that is known, or finds one, within an effort.
Improve = Callable[[RoomModel, Solution | None, Effort], Improved]


@dataclass(slots=True)
class _Stage:
    """What the solver said of one criterion."""

    value: float = math.inf  # of the best solution
    bound: float = -math.inf
    solution: Sequence[float] | None = None
    infeasible: bool = False

    @property
    def proved(self) -> bool:
        return self.infeasible or self.value <= self.bound

    def plus(self, fixed: float) -> "_Stage":
        return replace(self, value=self.value + fixed, bound=self.bound + fixed)


@dataclass(slots=True, eq=False)
class _Solver:
    """One program that is solved again and again, with another objective and more known."""

    program: Program
    effort: Effort
    known: list[float] = field(default_factory=list)  # by term: no solution may exceed it
    most_pods: float | None = None

    def minimise(self, place: int, start: Sequence[float] | None) -> _Stage:
        """Within what is known of the terms before."""
        objective = self.program.objectives[place]
        if start is not None and not self._value(objective, start):
            return _Stage(0, 0, start)
        if self.effort.is_over:
            return _Stage(solution=start)
        if max(objective.values(), default=0) <= _LARGEST:
            return self._solved(objective, start)
        return self._by_pods(objective, start)

    def _by_pods(self, objective: dict[int, int], start: Sequence[float] | None) -> _Stage:
        """Sums of priorities are too large for what a solver can tell apart.

        As a rule each pod more costs more than all differences between pods: then the fewest pods come first.
        """
        each, rest = self._split(objective)
        fewest = self._fewest_pods(start)
        spread = max((price / self.program.pods[column] for column, price in rest.items()), default=0)
        if not fewest.proved or fewest.infeasible or spread * fewest.value >= each:
            value = self._value(objective, fewest.solution) if fewest.solution is not None else math.inf
            return _Stage(value, -math.inf, fewest.solution)
        self.most_pods = fewest.value
        return self._solved(rest, fewest.solution).plus(each * fewest.value)

    def _fewest_pods(self, start: Sequence[float] | None) -> _Stage:
        pods = self.program.pods
        for place, value in enumerate(self.known):
            if self.program.objectives[place] == pods:
                return _Stage(value, value, start)
        return self._solved(pods, start)

    def _split(self, objective: dict[int, int]) -> tuple[int, dict[int, int]]:
        """What each pod costs at least, and what columns cost beyond that."""
        pods = self.program.pods
        each = min(price // pods[column] for column, price in objective.items())
        rest = ((column, price - each * pods[column]) for column, price in objective.items())
        return each, {column: price for column, price in rest if price}

    def _limits(self) -> Iterator[tuple[dict[int, int], float]]:
        """Objectives that no solution may exceed, and by how much."""
        for place, most in enumerate(self.known):
            objective = self.program.objectives[place]
            if max(objective.values(), default=0) <= _LARGEST:
                yield objective, most
            else:
                each, rest = self._split(objective)
                pods = most // each
                yield self.program.pods, pods
                yield rest, most - each * pods
        if self.most_pods is not None:
            yield self.program.pods, self.most_pods

    def _value(self, objective: dict[int, int], values: Sequence[float]) -> float:
        return sum(price * round(values[column]) for column, price in objective.items())

    def begin(self, start: Solution | None) -> Sequence[float] | None:
        """The columns of a plan that is known, if it is a solution."""
        counts = self.program.model.counts_of(start.units) if start is not None else None
        if start is None or counts is None:
            return None
        values = self.program.values(counts, start.seats)
        return values if self._holds(values) else None

    def _holds(self, values: Sequence[float]) -> bool:
        objectives = self.program.objectives
        within = (
            self._value(objectives[place], values) <= most
            for place, most in enumerate(self.known)
            if objectives[place]
        )
        return all(within) and all(row.holds(values) for row in self.program.rows)

    def feasible(self, start: Sequence[float] | None) -> _Stage:
        return _Stage(0, 0, start) if start is not None else self._solved({}, None)

    def _solved(self, objective: dict[int, int], start: Sequence[float] | None) -> _Stage:
        import highspy

        if not self.program.uppers:  # nothing is left to be decided, and a solver makes nothing of that
            return _Stage(0, 0, ()) if self._holds(()) else _Stage(infeasible=True)
        meter = _Meter(self.effort, 1 + sum(len(row.columns) for row in self.program.rows) // _ENTRIES)
        if len(self.program.uppers) >= _LARGE:
            start = self._rounded(highspy, objective, start, meter)
        solver = self._loaded(highspy, objective)
        if start is not None:
            known = highspy.HighsSolution()
            known.col_value = list(start)
            solver.setSolution(known)
        solver.setCallback(meter.step, None)
        solver.startCallback(highspy.cb.HighsCallbackType.kCallbackMipInterrupt)
        solver.run()
        return self._stage(highspy, solver, objective, start)

    def _rounded(
        self, highspy: Any, objective: dict[int, int], start: Sequence[float] | None, meter: "_Meter"
    ) -> Sequence[float] | None:
        """The start, or a better one.

        The solver takes long to find its first solution of a large program, and may be stopped before. So the
        program is solved in fractions, which is quick: again and again the largest fraction is rounded up, or
        down if there is no solution then, and the others follow, until none is left.
        """
        solver, uppers = self._loaded(highspy, objective), self.program.uppers
        columns, continuous = np.arange(len(uppers)), highspy.HighsVarType.kContinuous
        solver.changeColsIntegrality(len(uppers), columns, np.full(len(uppers), continuous))
        column, lower = -1, 0  # the last one that was rounded, and to what
        while not self.effort.is_over and self.effort.spent < self.effort.units:
            solver.run()
            meter.pay(1 + meter.price * max(0, solver.getInfo().simplex_iteration_count) // _PIVOTS)
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                if column < 0:
                    break
                solver.changeColBounds(column, lower - 1, lower - 1)
                column = -1
                continue
            values = np.array(solver.getSolution().col_value)
            fractions = values - np.floor(values + _NOTHING)
            column = int(fractions.argmax())
            if fractions[column] <= _NOTHING:
                found: list[float] = np.round(values).tolist()
                known = [one for one in (start, found) if one is not None and self._holds(one)]
                return min(known, key=lambda one: self._value(objective, one), default=None)
            lower = math.ceil(values[column])
            solver.changeColBounds(column, lower, uppers[column])
        return start

    def _loaded(self, highspy: Any, objective: dict[int, int]) -> Any:
        """A solver that has the program."""
        solver: Any = highspy.Highs()
        for option, value in _OPTIONS.items():
            solver.setOptionValue(option, value)
        if math.isfinite(left := self.effort.seconds_left()):  # between two callbacks much time may pass
            solver.setOptionValue("time_limit", max(left, 0.0))
        solver.passModel(self._lp(highspy, objective))
        return solver

    def _stage(
        self, highspy: Any, solver: Any, objective: dict[int, int], start: Sequence[float] | None
    ) -> _Stage:
        status, info = solver.getModelStatus(), solver.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return _Stage(infeasible=True)
        is_feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = list(solver.getSolution().col_value) if is_feasible else start
        if values is None:
            return _Stage(bound=_bound(objective, info.mip_dual_bound))
        value = self._value(objective, values)
        is_best = status == highspy.HighsModelStatus.kOptimal
        return _Stage(value, value if is_best else _bound(objective, info.mip_dual_bound), values)

    def _lp(self, highspy: Any, objective: dict[int, int]) -> Any:
        program, lp = self.program, highspy.HighsLp()
        columns = len(program.uppers)
        limits = [(terms, most) for terms, most in self._limits() if terms]
        costs = [0.0] * columns
        for column, price in objective.items():
            costs[column] = price
        starts, index, value = [0], list[int](), list[float]()
        lower, upper = list[float](), list[float]()
        for row in program.rows:
            index += row.columns
            value += row.values
            starts.append(len(index))
            lower.append(row.lower)
            upper.append(row.upper)
        for terms, most in limits:
            index += terms.keys()
            value += terms.values()
            starts.append(len(index))
            lower.append(-math.inf)
            upper.append(most)
        lp.num_col_, lp.num_row_ = columns, len(lower)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, [0.0] * columns, program.uppers
        lp.row_lower_, lp.row_upper_ = lower, upper
        lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = starts, index, value
        return lp


_OPTIONS: dict[str, object] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
    "mip_feasibility_tolerance": 1e-7,
    "presolve": "off",  # HiGHS 1.15 has called plans the best with it that are not; a proof must hold
}


def _bound(objective: dict[int, int], dual: float) -> float:
    """All prices are whole numbers, so the next one is a bound too.

    A solver that is stopped early has none yet.
    """
    bound = math.ceil(dual - 1e-6) if math.isfinite(dual) else dual
    return max(bound, 0) if all(price >= 0 for price in objective.values()) else bound


@dataclass(slots=True, eq=False)
class _Meter:
    """Stops the solver when the effort is spent. A call of it stands for work that grows with the program."""

    effort: Effort
    price: int

    def step(self, _kind: Any, _message: str, _out: Any, into: Any, _data: Any) -> None:
        self.pay(self.price)
        if self.effort.spent >= self.effort.units or self.effort.is_over:
            into.user_interrupt = True

    def pay(self, units: int) -> None:
        self.effort.spent = min(self.effort.units, self.effort.spent + units)


_LARGEST = 10**6  # a price; sums of larger ones come too close to what the solver's numbers can tell apart
_LARGE = 200  # columns; of fewer, the solver finds a good solution by itself
_NOTHING = 1e-6  # of a column: a rounding error
_PIVOTS = 500  # steps in fractions are about as much work as what the solver does between two calls
_ENTRIES = 50  # of the matrix; a call for so many is about as much work as one placement of a pod


# --- term by term ----------------------------------------------------------------------


def improved(model: RoomModel, start: Solution | None, effort: Effort) -> Improved:
    """``start``: a plan that is known."""
    stages = _Stages(model, effort, start)
    try:
        found = stages.run()
    except TooLargeError:
        return Improved(start)
    if found.best is None and not found.infeasible:  # the last stage ended early, and found none by itself
        return replace(found, best=stages.start)
    return found


@dataclass(slots=True, eq=False)
class _Stages:
    model: RoomModel
    effort: Effort
    start: Solution | None

    def run(self) -> Improved:
        order = self.model.order
        at = next((i for i, term in enumerate(order) if term.measured is Measure.PRIORITY), None)
        if at is None:
            return self._in_turn(self.model, len(order))
        levels = self.model.levels
        if not levels:
            return Improved(None, proved=True, infeasible=True)
        within = self._best_before(levels, at)
        if not within.proved or within.infeasible:
            return within
        model = _within_budgets(self.model, within.bound)
        lowest, ceiling = self._ceilings(model, within, at)
        known = within.bound
        found = self._in_turn(model.below(ceiling), len(order), (*known, ceiling))
        if lowest == ceiling:
            return found
        self.effort.fell_short = True  # a lower priority may do
        return Improved(found.best, (*known, lowest))

    def _best_before(self, levels: Sequence[float], at: int) -> Improved:
        """The least by the criteria before the priority, whatever the priority is.

        As a rule a plan that costs nothing by them is known, or the lowest priority at which there is room at
        all has one.
        """
        counts = self.model.counts_of(self.start.units) if self.start is not None else None
        if counts is not None and self.model.permits(counts) and not any(self.model.cost(counts)[:at]):
            return Improved(self.start, (0,) * at, proved=True)
        first = self._in_turn(self.model.below(levels[0]), at)
        if first.proved and not first.infeasible and not any(first.bound):
            return first
        return self._in_turn(self.model.below(levels[-1]), at)

    def _ceilings(self, model: RoomModel, within: Improved, at: int) -> tuple[float, float]:
        """Priorities up to which units suffice for the best by the criteria before: the lowest that may, and
        the lowest that is known to.

        The search for it leaves half of the effort to the criteria after the priority.
        """
        found = self._cost(within.best)[at] if within.best is not None else math.inf
        levels = [level for level in model.levels if level <= found]
        low, high, effort = 0, len(levels) - 1, self.effort
        self.effort = effort.half()
        while low < high:
            middle = (low + high) // 2
            tried = self._in_turn(model.below(levels[middle]), at)
            if tried.infeasible or (tried.proved and tried.bound != within.bound):
                low = middle + 1
            elif tried.proved:
                high = middle
            else:
                break
        effort.returned(self.effort)
        self.effort = effort
        return levels[low], levels[high]

    def _cost(self, solution: Solution) -> Costs:
        return self.model.cost(self.model.counts_of(solution.units) or {})

    def _in_turn(self, model: RoomModel, upto: int, known: tuple[float, ...] = ()) -> Improved:
        """The first terms, one after the other, from the first that is not known."""
        model = _within_budgets(model, known)
        solver = self._solver(model, known)
        values = solver.begin(self.start)
        if upto == len(known) == 0:
            stage = solver.feasible(values)
            return self._recorded(solver.program, stage.solution, known, stage)
        for place in range(len(known), upto):
            if model.order[place].measured is Measure.SUM:
                stage = solver.minimise(place, values)
            else:
                stage = self._lowered(solver, place, values)
                if stage.proved and not stage.infeasible:
                    model = model.up_to(place, stage.value)
                    solver = self._solver(model, tuple(solver.known))
                    stage = replace(stage, solution=solver.begin(self.start))
            values = stage.solution
            if not stage.proved or stage.infeasible:
                return self._recorded(solver.program, values, (*solver.known, stage.bound), stage)
            solver.known.append(stage.value)
            if (within := _within_budgets(model, solver.known)) is not model:
                self._recorded(solver.program, values, (), stage)
                model, solver = within, self._solver(within, tuple(solver.known))
                values = solver.begin(self.start)
        return self._recorded(solver.program, values, tuple(solver.known), _Stage(0, 0, values))

    def _solver(self, model: RoomModel, known: Sequence[float]) -> _Solver:
        return _Solver(program_of(model), self.effort, list(known))

    def _lowered(self, solver: _Solver, place: int, values: Sequence[float] | None) -> _Stage:
        """The least by a term that is no sum: units that cost more are left out, as long as there is room."""
        stage = solver.feasible(values)
        while stage.solution is not None:
            model, program = solver.program.model, solver.program
            self._recorded(program, stage.solution, (), stage)
            value = self._cost(self._solution(program, stage.solution))[place]
            lower = max((one for one in _levels(model, place) if one < value), default=None)
            if lower is None:
                return _Stage(value, value, stage.solution)
            solver = self._solver(model.up_to(place, lower), solver.known)
            tried = solver.feasible(None)
            if tried.infeasible:
                return _Stage(value, value, stage.solution)
            if tried.solution is None:
                return _Stage(value, -math.inf, stage.solution)
            stage = tried
        return stage

    def _solution(self, program: Program, values: Sequence[float]) -> Solution:
        return Solution(program.model.units_of(program.counts(values)), program.seats(values))

    def _recorded(
        self, program: Program, values: Sequence[float] | None, bound: tuple[float, ...], stage: _Stage
    ) -> Improved:
        """Note what a stage found: a better plan is the start of the next stage."""
        if not stage.proved:
            self.effort.fell_short = True
        if values is None:
            return Improved(None, bound, stage.proved, stage.infeasible)
        self.start = self._better(self._solution(program, values))
        return Improved(self.start, bound, stage.proved)

    def _better(self, found: Solution) -> Solution:
        if self.start is None:
            return found
        return min(self.start, found, key=self._cost)


def _within_budgets(model: RoomModel, known: Sequence[float]) -> RoomModel:
    """Without units that exceed a budget alone, once it is known that none need be exceeded."""
    charged = zip(model.order, known, strict=False)
    if model.breaks_no_budget or not any(term.budgets and not value for term, value in charged):
        return model
    return model.within_budgets()


def _levels(model: RoomModel, place: int) -> set[float]:
    """What units cost by a term that is no sum."""
    match model.order[place].measured:
        case Measure.PRIORITY:
            return {item.priority for item in model.items}
        case Measure.HIGHEST:
            return {item.prices[place] for item in model.items}
        case _:
            top = max((item.priority for item in model.items), default=0)
            return {-start for item in model.items if item.priority == top for start in item.starts}
