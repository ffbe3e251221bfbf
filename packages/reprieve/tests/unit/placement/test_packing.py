"""Members that only take room from each other, and nodes by what they have left."""

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.placement.effort import Effort, Share
from reprieve.placement.packing import Packing, Room


def a_room(
    sizes: Sequence[int],
    left: Sequence[int],
    needed: int | None = None,
    only: dict[int, set[int]] | None = None,
) -> Room:
    """Of one resource; ``only`` has the nodes of members that may not use all."""
    is_open = np.ones((len(sizes), len(left)), np.bool_)
    for member, nodes in (only or {}).items():
        is_open[member] = [node in nodes for node in range(len(left))]
    return Room(np.array([sizes]), np.array([left]), is_open, len(sizes) if needed is None else needed)


def first(members: Sequence[int], nodes: Sequence[int]) -> tuple[int, int]:
    return members[0], nodes[0]


def ample() -> Share:
    return Effort(1_000_000).share()


def packed(room: Room, share: Share | None = None) -> dict[int, int] | None:
    found = Packing(room).search(share or ample(), first)
    return None if found is None else dict(found)


# --- what is found -------------------------------------------------------------------------------


def test_the_larger_node_is_kept_for_those_who_need_it() -> None:
    assert packed(a_room([3, 2, 2], [4, 3])) == {0: 1, 1: 0, 2: 0}


def test_members_with_few_nodes_come_first() -> None:
    assert packed(a_room([4, 4], [4, 4], only={1: {0}})) == {1: 0, 0: 1}


def test_any_members_are_enough() -> None:
    assert packed(a_room([4, 5, 3], [4, 4], needed=2, only={2: {0}})) == {2: 0, 0: 1}


def test_no_more_than_needed_are_placed() -> None:
    assert len(packed(a_room([1, 1, 1], [4], needed=2)) or ()) == 2


def test_without_anything_to_count_every_node_will_do() -> None:
    nothing = Room(np.zeros((0, 2), np.int64), np.zeros((0, 1), np.int64), np.ones((2, 1), np.bool_), 2)
    assert packed(nothing) == {0: 0, 1: 0}


# --- what is refuted -----------------------------------------------------------------------------


def is_refuted(room: Room) -> bool:
    return Packing(room).is_refuted


def test_a_class_without_enough_nodes() -> None:
    assert is_refuted(a_room([3, 3, 1], [5, 3, 2], only={0: {0, 2}, 1: {0, 2}}))
    assert not is_refuted(a_room([3, 3, 1], [5, 3, 2], needed=2, only={0: {0, 2}, 1: {0, 2}}))


def test_all_together_need_more_than_there_is() -> None:
    assert is_refuted(a_room([2, 1, 1, 1], [2, 2]))
    assert not is_refuted(a_room([2, 1, 1], [2, 2]))


def test_those_in_one_part_of_the_cluster_need_more_than_there_is() -> None:
    only = {0: {0}, 1: {0, 1}, 2: {0, 1}}
    assert is_refuted(a_room([1, 3, 2], [3, 2, 9], only=only))


def test_what_is_left_beyond_common_units_is_of_no_use() -> None:
    assert is_refuted(a_room([20, 20, 10], [39, 19]))


def test_a_proof_for_one_node_is_a_proof_for_all_that_are_equal() -> None:
    """80 members of three and 60 of two need 110 nodes of four, though all together need only 360 of 400."""
    effort = Effort(100_000)
    assert packed(a_room([3] * 80 + [2] * 60, [4] * 100), effort.share()) is None
    assert not effort.fell_short
    assert effort.spent < 1000


def test_a_search_that_ends_early_says_so() -> None:
    effort = Effort(4)
    assert packed(a_room([3, 2, 2], [4, 3]), effort.share()) is None
    assert effort.fell_short


# --- whatever the room ---------------------------------------------------------------------------


def fits(room: Room) -> bool:
    """By trying every node for every member, or none."""
    members, nodes = room.is_open.shape
    for where in product(range(-1, nodes), repeat=members):
        placed = [(member, node) for member, node in enumerate(where) if node >= 0]
        if len(placed) < room.needed or not all(room.is_open[member, node] for member, node in placed):
            continue
        used = np.zeros_like(room.left)
        for member, node in placed:
            used[:, node] += room.requests[:, member]
        asked = np.array(
            [
                [any(room.requests[r, m] for m, n in placed if n == node) for node in range(nodes)]
                for r in range(len(room.left))
            ]
        )
        if (used[asked] <= room.left[asked]).all():
            return True
    return False


@given(st.integers(0, 2**32 - 1))
def test_members_are_packed_exactly_when_they_fit(seed: int) -> None:
    rng = random.Random(seed)
    members, nodes = rng.randint(2, 5), rng.randint(1, 3)
    requests = [[rng.choice((0, 2, 4, 6)) for _ in range(members)] for _ in range(2)]
    left = [[rng.randint(-1, 13) for _ in range(nodes)] for _ in range(2)]
    is_open = [[rng.random() < 0.8 for _ in range(nodes)] for _ in range(members)]
    room = Room(np.array(requests), np.array(left), np.array(is_open), rng.randint(2, members))
    found = packed(room)
    assert (found is not None) is fits(room)
    if found is not None:
        chosen = np.zeros_like(room.is_open)
        chosen[list(found), list(found.values())] = True
        assert len(found) == room.needed
        assert fits(Room(room.requests, room.left, room.is_open & chosen, room.needed))
