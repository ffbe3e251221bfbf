"""The least disturbance in small models, with and without effort."""

from dataclasses import replace
from itertools import combinations

import pytest
from tests.unit.preemption.least_disturbance.rooms import ORDER, a_room, an_item

from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance import patterns
from reprieve.preemption.least_disturbance.first_plan import begun, worth_solving
from reprieve.preemption.least_disturbance.improve import Improved, Solution, improved
from reprieve.preemption.least_disturbance.model import RoomModel


def solved(room: RoomModel, known: Solution | None = None, effort: int = 1000) -> Improved:
    """Without effort, the first plan alone."""
    model, start = begun(room, lambda _: known)
    return improved(worth_solving(model, start), start, Effort(effort)) if effort else Improved(start)


def test_two_groups_that_share_nodes() -> None:
    """One group of two pods makes room on both nodes; two others would have to go instead."""
    items = [an_item([1], {0: 2}), an_item([2], {1: 2}), an_item([3], {0: 2, 1: 2}, pods=2)]
    found = solved(a_room([0, 0], items, needs=[2], members=[2]))
    assert found.best is not None
    assert (found.best.units, found.proved) == ((3,), True)  # as many pods, and fewer workloads
    assert found.bound == (0, 0, 2, 1)


def test_a_budget_that_must_break_does_so_below_the_lowest_ceiling() -> None:
    broken = ((0, 1),)
    items = [an_item([i], {i: 2}, priority=i, budgets=broken) for i in range(4)]
    found = solved(a_room([0] * 4, items, needs=[2], members=[2]))
    assert found.best is not None
    assert (found.best.units, found.bound[:3], found.proved) == ((0, 1), (2, 1, 2), True)


def test_a_budget_that_must_hold_holds_whatever_the_order() -> None:
    """One pod under a budget would do; two others cost more."""
    items = [an_item([1], {0: 2}, budgets=((0, 1),)), an_item([2], {1: 2}, pods=2)]
    room = a_room([0, 0], items, needs=[2])
    room = replace(room, order=ORDER[1:], items=tuple(replace(i, prices=i.prices[1:]) for i in room.items))
    for strict, victims in ((False, (1,)), (True, (2,))):
        found = solved(replace(room, breaks_no_budget=strict), Solution((1,), {}))
        assert found.best is not None
        assert (found.best.units, found.proved) == (victims, True)


def test_members_of_two_sizes_get_seats() -> None:
    items = [an_item([1], {0: 3}), an_item([2], {1: 5}), an_item([3], {2: 8}, pods=3)]
    room = a_room([0, 0, 0], items, needs=[3, 5], members=[1, 1])
    found = solved(room)
    assert found.best is not None
    assert (found.best.units, found.best.seats, found.proved) == ((1, 2), {(0, 0): 1, (1, 1): 1}, True)


def test_an_overdrawn_node_of_which_no_member_asks_stays_so() -> None:
    room = a_room([-3, 0], [an_item([1], {1: 2})], needs=[2, 1], members=[1, 0])
    found = solved(room)
    assert found.best is not None
    assert (found.best.units, found.proved) == ((1,), True)


def test_that_there_is_no_room_is_proved() -> None:
    found = solved(a_room([0], [an_item([1], {0: 2})], needs=[3]))
    assert (found.best, found.infeasible, found.proved) == (None, True, True)


def test_a_plan_that_is_known_is_kept_if_none_is_better() -> None:
    room = a_room([0, 0], [an_item([1], {0: 2}), an_item([2], {1: 2})], needs=[2])
    for known in ((1,), (2,)):
        plan = Solution(known, {})
        assert begun(room, lambda _, plan=plan: plan)[1] == plan  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_best_of_all_sets(seed: int) -> None:
    """Small numbers that look random."""
    items = []
    for unit in range(7):
        draw = (seed * 7919 + unit * 104729) % 1009
        used = {draw % 3: 1 + draw % 4} | ({(draw + 1) % 3: 1 + draw % 2} if draw % 5 < 2 else {})
        items.append(
            an_item([unit], used, draw % 3, pods=len(used), budgets=((0, 1),) if draw % 7 == 0 else ())
        )
    room = a_room([0, 1, 0], items, needs=[2], members=[2 + seed % 2])
    sets = [units for n in range(8) for units in combinations(range(7), n) if fits(room, units)]
    found = solved(room)
    if not sets:
        assert found.infeasible
        return
    assert found.best is not None and found.proved
    least = min(room.cost(room.counts_of(units) or {}) for units in sets)
    assert room.cost(room.counts_of(found.best.units) or {}) == least == found.bound


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_best_of_all_sets_where_no_node_has_patterns(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes are overdrawn, empty or neither, and some have room for two members more."""
    monkeypatch.setattr(patterns, "_MOST", 0)
    items = [
        an_item([unit], {(seed + unit) % 3: 1 + (seed * unit) % 4}, unit % 2, pods=1 + (seed + unit) % 3)
        for unit in range(8)
    ]
    room = a_room([seed % 3 - 2, 1, 3], items, needs=[3], members=[2 + seed % 3])
    found = solved(room)
    sets = [units for n in range(9) for units in combinations(range(8), n) if fits(room, units)]
    if not sets:
        assert found.infeasible
        return
    assert found.best is not None and found.proved
    assert fits(room, found.best.units)
    assert min(room.cost(room.counts_of(units) or {}) for units in sets) == found.bound


def test_units_that_exceed_a_budget_alone_are_not_looked_at_where_others_suffice() -> None:
    """Of two pods under a budget that allows one, one may go."""
    items = [
        an_item([1, 2], {0: 2}, budgets=((0, 1),)),
        an_item([3], {1: 2}, budgets=((0, 2),)),
        an_item([4], {2: 2}),
    ]
    room = replace(a_room([0, 0, 0], items, needs=[2], members=[2]), allowances=(1,))
    within = room.within_budgets()
    assert [item.units for item in within.items] == [(1,), (4,)]
    found = solved(room)
    assert found.best is not None
    assert (found.best.units, found.bound[0], found.proved) == ((1, 4), 0, True)


def test_a_priority_that_is_not_decided_in_time_has_a_bound() -> None:
    items = [an_item([i], {i % 5: 1 + i % 3, (i * 3 + 1) % 5: 2}, i % 2, pods=2 + i % 4) for i in range(40)]
    room = a_room([0] * 5, items, needs=[4], members=[9])
    found = improved(room, Solution(tuple(range(40)), {}), Effort(6))
    assert found.best is not None and not found.proved
    assert found.bound == (0, 0)


def fits(room: RoomModel, units: tuple[int, ...]) -> bool:
    seats = 0
    for node, (left,) in enumerate(room.left):
        freed = sum(used for i, (used,) in room.items_at[node] if i in units)
        seats += max(0, left + freed) // room.needs[0][0]
    return seats >= room.target


def test_the_same_effort_has_the_same_result() -> None:
    items = [an_item([i], {i % 5: 1 + i % 3, (i * 3 + 1) % 5: 2}, i % 2, pods=2 + i % 4) for i in range(40)]
    room = a_room([0] * 5, items, needs=[4], members=[9])
    efforts = [Effort(60) for _ in range(2)]
    first, second = (improved(room, None, effort) for effort in efforts)
    assert first == second
    assert efforts[0].spent == efforts[1].spent <= 60


def test_a_criterion_that_the_solver_has_only_begun_has_a_bound() -> None:
    items = [an_item([i], {i % 5: 1 + i % 3, (i * 3 + 1) % 5: 2}, i % 2, pods=2 + i % 4) for i in range(40)]
    found = solved(a_room([0] * 5, items, needs=[4], members=[9]), effort=8)
    assert (found.bound[:2], found.proved) == ((0, 0), False)


@pytest.mark.parametrize("seed", range(30))
def test_first_plans_for_several_sizes_make_enough_room(seed: int) -> None:
    items = [
        an_item(
            [i], {i % 4: 2 + (seed + i) % 3} | ({(i + 1) % 4: 1} if i % 3 == seed % 3 else {}), pods=1 + i % 3
        )
        for i in range(12)
    ]
    room = a_room([0, 1, 0, 2], items, needs=[3, 2], members=[2, 2])
    first, exact = solved(room, effort=0), solved(room)
    assert exact.proved and exact.best is not None and first.best is not None
    assert room.cost(room.counts_of(first.best.units) or {}) >= exact.bound
    for node, (left,) in enumerate(room.left):
        freed = sum(used for i, (used,) in room.items_at[node] if i in first.best.units)
        taken = sum(n * room.needs[shape][0] for (at, shape), n in first.best.seats.items() if at == node)
        assert taken <= left + freed


def test_units_that_did_not_suffice_are_not_proposed_again() -> None:
    """Unit 1 makes room for both members, and something else forbids that."""
    items = [an_item([1], {0: 4}), an_item([2], {1: 2}, pods=2), an_item([3], {2: 2})]
    room = a_room([0, 0, 0], items, needs=[2], members=[2])
    first = solved(room)
    assert first.best is not None and first.best.units == (1,)
    second = solved(room.without_success((1,)))
    assert second.best is not None and second.best.units == (1, 3)
    third = solved(room.without_success((1,)).without_success((1, 3)))
    assert third.best is not None and third.best.units in ((1, 2), (2, 3))
    assert solved(room.without_success((1, 2, 3))).best is None
