"""Minimal sets of units that let members fit on a node."""

from tests.unit.preemption.least_disturbance.rooms import a_room, an_item

from reprieve.preemption.least_disturbance.patterns import EvictionPattern, patterns_of


def test_only_minimal_sets_are_listed() -> None:
    """Two units of 2, or the one of 4; never all three."""
    room = a_room([0, 0], [an_item([1, 2], {0: 2}), an_item([3], {0: 4, 1: 1})], needs=[4])
    found = patterns_of(room)
    assert {pattern.counts for pattern in found.listed} == {((0, 2),), ((1, 1),)}
    assert (found.free, found.dense) == (0, ())


def test_a_set_counts_for_all_members_that_it_has_room_for() -> None:
    room = a_room([2], [an_item([1], {0: 6})], needs=[4], members=[2])
    assert patterns_of(room).listed == (EvictionPattern(0, 2, ((0, 1),)),)


def test_room_that_is_free_needs_no_set() -> None:
    room = a_room([5, 0], [an_item([1], {1: 4})], needs=[4], members=[2])
    found = patterns_of(room)
    assert (found.free, [pattern.node for pattern in found.listed]) == (1, [1])


def test_an_overdrawn_node_has_to_make_good_for_that_first() -> None:
    room = a_room([-2], [an_item([1, 2, 3], {0: 2})], needs=[4])
    assert patterns_of(room).listed == (EvictionPattern(0, 1, ((0, 3),)),)


def test_a_node_with_very_many_sets_is_left_to_the_solver() -> None:
    items = [an_item([i], {0: 10 + i}) for i in range(12)]
    found = patterns_of(a_room([0], items, needs=[60]))
    assert (found.listed, found.dense) == ((), (0,))


def test_of_nodes_with_units_of_their_own_only_the_cheapest_are_kept() -> None:
    items = [an_item([n], {n: 4}, pods=n + 1) for n in range(10)]
    room = a_room([0] * 10, items, needs=[4], members=[3])
    assert [pattern.node for pattern in patterns_of(room).listed] == [0, 1, 2]
