"""Every state that a handover can get into: always one ending, one requeue, and nothing left behind.

What must hold is said in ``reachable``.
"""

import pytest
from hypothesis import settings
from tests.unit.scheduler.making import a_key

from reprieve.model.conditions import MARK
from reprieve.model.effects import Evict, Nominate, SetCondition
from tests.simulation.invariants import BrokenInvariantError
from tests.simulation.reachable import beginning, check, check_rest, explore, followed, fork, ways


@pytest.mark.parametrize(("victims", "states"), [(1, 240), (2, 1200), (3, 4500)])
def test_every_state_is_sound_and_leads_to_rest(victims: int, states: int) -> None:
    found = explore(victims)
    assert len(found.states) >= states, "less can happen than there could"
    assert len(found.resting) > 10


# Victims, how many mishaps there are at most, and how many states that makes at least. All states of one
# victim take minutes of computing, those of more victims hours: `make soak` goes further than `make test`.
FEW = [(1, 2, 800), (2, 1, 200), (3, 1, 400)]
MANY = [(1, None, 16_000), (2, 3, 13_000), (3, 2, 5_000)]


@pytest.mark.parametrize(("victims", "mishaps", "states"), FEW if settings().derandomize else MANY)
def test_a_group_goes_whole_in_every_state(victims: int, mishaps: int | None, states: int) -> None:
    """With a member that joins it, at any time, and a preemptor that may vanish at any time."""
    found = explore(victims, whole=True, mishaps=mishaps)
    assert len(found.states) >= states, "less can happen than there could"
    assert {what for _, (what, _) in found.origins} >= {"join", "restart", "vanished", "failed"}


REPLACED_MANY = [(1, 3, 2_000), (2, 2, 800)]


@pytest.mark.parametrize(("victims", "mishaps", "states"), FEW if settings().derandomize else REPLACED_MANY)
def test_a_group_does_not_start_beside_its_end_in_any_state(
    victims: int, mishaps: int | None, states: int
) -> None:
    found = explore(victims, whole=True, replaced=True, mishaps=mishaps)
    assert len(found.states) >= states, "less can happen than there could"
    assert {what for _, (what, _) in found.origins} >= {"replace", "restart", "vanished", "failed"}


@pytest.mark.parametrize(("mishaps", "states"), [(2, 600)] if settings().derandomize else [(4, 20_000)])
def test_a_plan_is_improved_in_every_state(mishaps: int, states: int) -> None:
    found = explore(2, improved=True, mishaps=mishaps)
    assert len(found.states) >= states, "less can happen than there could"
    happened = {what for _, (what, _) in found.origins}
    assert happened >= {"answered", "solver died", "time", "late", "restart", "higher", "vanished", "failed"}


@pytest.mark.parametrize(
    ("end", "victims"), [("answered", {"v1"}), ("solver died", {"v0", "v1"}), ("time", {"v0", "v1"})]
)
def test_the_first_plan_or_a_better_one_is_carried_out(end: str, victims: set[str]) -> None:
    scene = beginning(2, improved=True)
    after = followed(scene, next(way for way in ways(scene) if way[0] == end))
    assert {pod.name for pod in after.cluster.plan().victims} == victims


def test_a_write_for_a_plan_that_is_improved_is_found() -> None:
    scene = beginning(2, improved=True)
    scene.cluster.stage.wanted.append(Nominate(scene.cluster.named("new-0"), "n1"))
    with pytest.raises(BrokenInvariantError, match="a plan is improved, and wants"):
        check(scene)


def test_every_state_is_reached_with_many_mishaps() -> None:
    """So that the bound of the larger walks is seen to leave out nothing else."""
    assert explore(1).states.keys() == explore(1, mishaps=20).states.keys()
    assert explore(1, mishaps=1).states.keys() < explore(1, mishaps=2).states.keys()


def test_all_that_can_happen_happens() -> None:
    found = explore(1)
    happened = {what for _, (what, _) in found.origins}
    assert happened >= {"done", "failed", "lost, done", "vanished", "terminated", "drained"}
    assert happened >= {"higher", "restart", "time"}
    assert "seen" in {what for what, _ in ways(beginning(1))}, "which is like an answer that is lost"


def test_a_copy_goes_its_own_way() -> None:
    scene = beginning(1)
    copy = fork(scene)
    way = next(way for way in ways(copy) if way[0] == "done")
    assert followed(copy, way).cluster.plan().stage is not scene.cluster.plan().stage
    assert scene.cluster.wanted(Nominate) == ["new"]


def test_what_is_wrong_is_found() -> None:
    scene = beginning(1)
    scene.cluster.stage.wanted.clear()
    with pytest.raises(BrokenInvariantError, match="waits for calls that are not made"):
        check(scene)
    with pytest.raises(BrokenInvariantError, match="new has no place"):
        check_rest(scene)
    scene = beginning(1)
    scene.state.queue.remove(a_key("new"))
    with pytest.raises(BrokenInvariantError, match="new is in line: False, promised a place: False"):
        check(scene)


def test_an_eviction_without_a_mark_is_found() -> None:
    cluster = (scene := beginning(1)).cluster.does(Nominate).does(SetCondition)
    assert (cluster.wanted(Evict), cluster.conditions("v0")) == (["v0"], {MARK: "True"})
    check(scene)
    cluster.objects[cluster.named("v0")] = cluster.restarted().pod("v0")
    check(scene)
    unmarked = beginning(1).cluster.pod("v0")
    cluster.objects[cluster.named("v0")] = unmarked
    with pytest.raises(BrokenInvariantError, match="v0 is evicted, and not marked"):
        check(scene)
