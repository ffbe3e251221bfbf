"""Members that only take room from each other, and nodes by what they have left."""

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.placement.effort import Effort, Share
from reprieve.placement.packing import Packing, Room


def a_room(sizes: Sequence[int], left: Sequence[int]) -> Room:
    """Of one resource; every member is needed, and may use every node."""
    is_open = np.ones((len(sizes), len(left)), np.bool_)
    return Room(np.array([sizes]), np.array([left]), is_open, len(sizes))


def first(members: Sequence[int], nodes: Sequence[int]) -> tuple[int, int]:
    return members[0], nodes[0]


def packed(room: Room, share: Share | None = None) -> dict[int, int] | None:
    found = Packing(room).search(share or Effort(1_000_000).share(), first)
    return None if found is None else dict(found)


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
