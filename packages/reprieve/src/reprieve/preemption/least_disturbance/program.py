"""The model as an integer program: columns, rows, and one objective for each criterion that is a sum.

Nodes with few patterns have a column for each pattern; the other nodes have columns for their units and for
the members that they take. No plan in the model costs less than the best solution.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.least_disturbance.model import Counts, Measure, RoomModel, Seats
from reprieve.preemption.least_disturbance.patterns import EvictionPattern, EvictionPatterns, patterns_of

MOST_COLUMNS = 20_000


class TooLargeError(Exception):
    """The program would have more columns than a solver should be asked to look at."""


@dataclass(slots=True)
class Row:
    columns: list[int]
    values: list[float]
    lower: float = -math.inf
    upper: float = math.inf

    def holds(self, values: Sequence[float]) -> bool:
        total = sum(values[column] * value for column, value in zip(self.columns, self.values, strict=True))
        return self.lower - 1e-6 <= total <= self.upper + 1e-6


@dataclass(slots=True, eq=False)
class Program:
    """All columns are whole numbers, and at least zero."""

    model: RoomModel
    patterns: EvictionPatterns
    uppers: list[float] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    objectives: list[dict[int, int]] = field(default_factory=list)  # by criterion: columns and their prices
    of_pattern: dict[int, int] = field(default_factory=dict)  # columns
    of_item: dict[int, int] = field(default_factory=dict)
    pods: dict[int, int] = field(default_factory=dict)  # by column: how many pods it evicts
    of_seat: dict[tuple[int, int], int] = field(default_factory=dict)  # by node and shape
    of_step: dict[tuple[int, int], int] = field(default_factory=dict)  # by node: so many members more
    of_overdrawn: dict[tuple[int, int], int] = field(default_factory=dict)  # by node and resource
    of_budget: dict[int, int] = field(default_factory=dict)
    of_group: dict[int, int] = field(default_factory=dict)  # whether it is left with too little
    of_idle: dict[int, int] = field(default_factory=dict)  # by leaf: pods that run on for nothing
    # a seat, and how many members there are not enough
    of_further: dict[int, tuple[int, int]] = field(default_factory=dict)

    def column(self, upper: float, prices: Iterable[tuple[int, int]] = ()) -> int:
        if len(self.uppers) >= MOST_COLUMNS:
            raise TooLargeError
        self.uppers.append(upper)
        for place, price in prices:
            if price and self.model.order[place].measured is Measure.SUM:
                self.objectives[place][len(self.uppers) - 1] = price
        return len(self.uppers) - 1

    def row(
        self, terms: Iterable[tuple[int, float]], lower: float = -math.inf, upper: float = math.inf
    ) -> None:
        columns, values = [], []
        for column, value in terms:
            columns.append(column)
            values.append(value)
        self.rows.append(Row(columns, values, lower, upper))

    # --- solutions -------------------------------------------------------------------------------

    def counts(self, values: Sequence[float]) -> Counts:
        """The units that a solution evicts, as far as it uses their room."""
        counts: Counts = {}
        dense = {i for node in self.patterns.dense for i, _ in self.model.items_at[node]}
        for i, column in self.of_item.items():
            if i in dense and (n := round(values[column])):
                counts[i] = n
        for pattern, column in zip(self.patterns.listed, self.of_pattern.values(), strict=True):
            if round(values[column]):
                for i, n in pattern.counts:
                    counts[i] = max(n, counts.get(i, 0))
        return counts

    def seats(self, values: Sequence[float]) -> Seats:
        """Where members go on nodes without patterns."""
        return {seat: n for seat, column in self.of_seat.items() if (n := round(values[column]))}

    def values(self, counts: Counts, seats: Seats) -> list[float]:
        """The solution that evicts these units; members of several shapes take these seats."""
        model, values = self.model, [0.0] * len(self.uppers)
        for i, column in self.of_item.items():
            values[column] = counts.get(i, 0)
        best: dict[int, EvictionPattern] = {}
        column_of = {}
        for pattern, column in zip(self.patterns.listed, self.of_pattern.values(), strict=True):
            is_covered = all(counts.get(i, 0) >= n for i, n in pattern.counts)
            if is_covered and pattern.gain > (best[pattern.node].gain if pattern.node in best else 0):
                best[pattern.node], column_of[pattern.node] = pattern, column
        for column in column_of.values():
            values[column] = 1
        for (node, shape), column in self.of_seat.items():
            n = seats.get((node, shape), 0) if len(model.needs) > 1 else self.room(node, shape, counts)
            values[column] = min(n, self.uppers[column])
        for (node, more), column in self.of_step.items():
            values[column] = float(self.room(node, 0, counts) - self.room(node, 0, {}) >= more)
        for (node, resource), column in self.of_overdrawn.items():
            asking = (s for s in model.usable_by[node] if model.needs[s][resource])
            values[column] = float(any(values[self.of_seat[node, s]] for s in asking))
        for column, (seat, few) in self.of_further.items():
            values[column] = float(values[seat] > few)
        self._follow(counts, values)
        return values

    def room(self, node: int, shape: int, counts: Counts) -> int:
        """How many members of a shape fit on a node if these units are gone, and no other member is there."""
        left = list(self.model.left[node])
        for i, used in self.model.items_at[node]:
            for r, amount in enumerate(used):
                left[r] += amount * counts.get(i, 0)
        return self.model.capacity(node, left, shape)

    def _follow(self, counts: Counts, values: list[float]) -> None:
        """Budgets and groups follow from what is evicted."""
        model = self.model
        for budget, column in self.of_budget.items():
            charged = sum(n * dict(model.items[i].budgets).get(budget, 0) for i, n in counts.items())
            values[column] = max(0, charged - model.allowances[budget])
        lost = model.lost(counts)
        broken = {*model.groups.broken(lost)}
        for group, column in self.of_group.items():
            values[column] = float(group in broken)
        for leaf, column in self.of_idle.items():
            stops = not broken.isdisjoint(_with_those_around(model, leaf))
            values[column] = model.groups.running[leaf] - lost.get(leaf, 0) if stops else 0


def program_of(model: RoomModel) -> Program:
    is_uniform = len(model.needs) == 1
    patterns = patterns_of(model) if is_uniform else EvictionPatterns(0, (), tuple(range(len(model.left))))
    program = Program(model, patterns, objectives=[{} for _ in model.order])
    _add_patterns(program)
    _add_items(program)
    _add_links(program)
    _add_dense_nodes(program)
    _add_members(program)
    _add_budgets(program)
    _add_groups(program)
    _add_barred(program)
    return program


def _add_patterns(program: Program) -> None:
    model = program.model
    by_node: dict[int, list[int]] = {}
    for number, pattern in enumerate(program.patterns.listed):
        alone = [(model.items[i], n) for i, n in pattern.counts if not model.coupled[i]]
        prices = [(c, sum(item.prices[c] * n for item, n in alone)) for c in range(len(model.order))]
        column = program.of_pattern[number] = program.column(1, prices)
        if alone:
            program.pods[column] = sum(item.pods * n for item, n in alone)
        by_node.setdefault(pattern.node, []).append(column)
    for columns in by_node.values():
        if len(columns) > 1:
            program.row(((column, 1) for column in columns), upper=1)


def _add_items(program: Program) -> None:
    """Units that matter to more than one node, or whose node has no patterns."""
    model = program.model
    wanted = {i for pattern in program.patterns.listed for i, _ in pattern.counts if model.coupled[i]}
    wanted.update(i for node in program.patterns.dense for i, _ in model.items_at[node])
    for i in sorted(wanted):
        item = model.items[i]
        program.of_item[i] = program.column(len(item.units), enumerate(item.prices))
        program.pods[program.of_item[i]] = item.pods


def _add_links(program: Program) -> None:
    """A pattern needs its units gone: one row for each node and unit."""
    links: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for number, pattern in enumerate(program.patterns.listed):
        for i, n in pattern.counts:
            if i in program.of_item:
                links.setdefault((pattern.node, i), []).append((program.of_pattern[number], n))
    for (_, i), terms in links.items():
        program.row([*terms, (program.of_item[i], -1)], upper=0)


def _add_steps(program: Program) -> None:
    """On a node without patterns, equal members have a column for the first that evictions make room for, one
    for the second, and so on.

    Rows for each of them are nearer to whole numbers than one row for all would be.
    """
    model, emptied = program.model, program.model.emptied().tolist()
    for node in program.patterns.dense:
        fits = program.room(node, 0, {})
        most = model.capacity(node, emptied[node]) - fits
        steps = [program.column(1) for _ in range(most)]
        program.of_step.update(((node, more), column) for more, column in enumerate(steps, start=1))
        for former, latter in pairwise(steps):
            program.row([(former, 1), (latter, -1)], lower=0)
        fewest, helping = [0] * (most + 1), set[int]()
        for r, need in enumerate(model.needs[0]):
            # [members more] what the node lacks for them; for none, nothing, even if it is overdrawn
            lacks = [0, *(max(0, (fits + more) * need - model.left[node][r]) for more in range(1, most + 1))]
            used = [
                (program.of_item[i], used[r], len(model.items[i].units)) for i, used in model.items_at[node]
            ]
            freed = sorted((one for _, one, units in used for _ in range(units)), reverse=True)
            covered = [0, *accumulate(freed)]
            fewest = [max(few, bisect_left(covered, lack)) for few, lack in zip(fewest, lacks, strict=True)]
            helping.update(column for column, one, _ in used if one and lacks[-1])
            for more in range(1, most + 1):
                # A unit that frees more than what so many members lack counts for no more than that.
                freeing = [(column, min(one, lacks[more])) for column, one, _ in used]
                _add_cover(program, freeing, steps[:more], lacks)
        _add_cover(program, [(column, 1) for column in sorted(helping)], steps, fewest)


def _add_cover(
    program: Program, freeing: Iterable[tuple[int, int]], steps: Sequence[int], lacks: Sequence[int]
) -> None:
    """What goes must be worth as much as the members lack. ``lacks``: for none, for one, and so on."""
    terms = [(column, worth) for column, worth in freeing if worth]
    terms += [(column, lacks[n] - lacks[n + 1]) for n, column in enumerate(steps) if lacks[n] != lacks[n + 1]]
    if lacks[len(steps)]:
        unit = math.gcd(*(value for _, value in terms))
        program.row([(column, value / unit) for column, value in terms], lower=0)


def _add_dense_nodes(program: Program) -> None:
    model = program.model
    if len(model.needs) == 1:
        _add_steps(program)
        return
    for node in program.patterns.dense:
        left, items = model.left[node], model.items_at[node]
        emptied = [
            have + sum(used[r] * len(model.items[i].units) for i, used in items)
            for r, have in enumerate(left)
        ]
        for shape in model.usable_by[node]:
            fits = min(have // need for have, need in zip(emptied, model.needs[shape], strict=True) if need)
            program.of_seat[node, shape] = program.column(max(0, min(fits, model.members[shape])))
        for r, have in enumerate(left):
            asking = [s for s in model.usable_by[node] if model.needs[s][r]]
            if not asking:
                continue
            terms: list[tuple[int, float]] = [(program.of_seat[node, s], model.needs[s][r]) for s in asking]
            terms += [(program.of_item[i], -used[r]) for i, used in items if used[r]]
            if have < 0:  # an overdrawn node may stay so if it takes no member that asks for the resource
                column = program.of_overdrawn[node, r] = program.column(1)
                terms.append((column, -have))
                for s in asking:
                    seat = program.of_seat[node, s]
                    program.row([(seat, 1), (column, -program.uppers[seat])], upper=0)
            unit = math.gcd(*(int(value) for _, value in terms))
            upper = max(0, have) // unit
            program.row([(column, value / unit) for column, value in terms], upper=upper)


def _add_members(program: Program) -> None:
    model = program.model
    terms = [(program.of_pattern[n], float(p.gain)) for n, p in enumerate(program.patterns.listed)]
    terms += [(column, 1.0) for column in (*program.of_seat.values(), *program.of_step.values())]
    program.row(terms, lower=model.target - program.patterns.free)
    for shape, count in enumerate(model.members if len(model.needs) > 1 else ()):
        seats = [(column, 1.0) for (_, s), column in program.of_seat.items() if s == shape]
        program.row(seats, upper=count)


def _add_budgets(program: Program) -> None:
    model = program.model
    prices = [(place, term.budgets) for place, term in enumerate(model.order)]
    for budget in sorted(model.breakable):
        shares = ((i, dict(item.budgets).get(budget, 0)) for i, item in enumerate(model.items))
        terms = _evicted(program, shares)
        if model.breaks_no_budget:
            program.row(terms, upper=model.allowances[budget])
            continue
        column = program.of_budget[budget] = program.column(math.inf, prices)
        program.row([*terms, (column, -1)], upper=model.allowances[budget])


def _add_groups(program: Program) -> None:
    """A group that loses more than its slack is left with too little; so may be the group around it."""
    model, groups = program.model, program.model.groups
    ends = [(place, term.ended) for place, term in enumerate(model.order)]
    idles = [(place, term.idle) for place, term in enumerate(model.order)]
    for group in sorted(model.breakable_groups):
        column = program.of_group[group] = program.column(1, ends if groups.ends[group] else ())
        if groups.running[group]:
            size, terms = groups.running[group], _lost(program, group)
        else:
            inside = [child for child in program.of_group if groups.parent[child] == group]
            size, terms = len(inside), [(program.of_group[child], 1.0) for child in inside]
        slack = groups.slack[group]
        program.row([*terms, (column, slack - size)], upper=slack)
    for leaf in sorted(model.stoppable):
        running, lost = groups.running[leaf], _lost(program, leaf)
        idle = program.of_idle[leaf] = program.column(running, idles)
        for group in _with_those_around(model, leaf):
            if group in program.of_group:
                stops = (program.of_group[group], running)
                program.row([stops, *((column, -n) for column, n in lost), (idle, -1)], upper=0)


def _with_those_around(model: RoomModel, group: int) -> Iterator[int]:
    while group != NOWHERE:
        yield group
        group = model.groups.parent[group]


def _lost(program: Program, leaf: int) -> list[tuple[int, float]]:
    items = enumerate(program.model.items)
    return _evicted(program, ((i, item.pods if item.group == leaf else 0) for i, item in items))


def _add_barred(program: Program) -> None:
    """Somewhere a member takes room that units which do not suffice would not leave."""
    model = program.model
    for barred in model.barred:
        counts = model.counts_among(barred)
        further = [
            (program.of_pattern[number], 1.0)
            for number, pattern in enumerate(program.patterns.listed)
            if pattern.gain > program.room(pattern.node, 0, counts) - program.room(pattern.node, 0, {})
        ]
        further += [
            (column, 1.0)
            for (node, more), column in program.of_step.items()
            if more == program.room(node, 0, counts) - program.room(node, 0, {}) + 1
        ]
        for (node, shape), seat in program.of_seat.items():
            few = program.room(node, shape, counts)
            if few < program.uppers[seat]:
                column = program.column(1)
                program.of_further[column] = seat, few
                program.row([(column, few + 1), (seat, -1)], upper=0)
                further.append((column, 1.0))
        program.row(further, lower=1)


def _evicted(program: Program, shares: Iterable[tuple[int, int]]) -> list[tuple[int, float]]:
    """A sum over units: items, and what one unit of each adds."""
    return [(program.of_item[i], float(n)) for i, n in shares if n and i in program.of_item]
