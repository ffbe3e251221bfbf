"""Every workload, in clusters of a few nodes: it measures something, and finds what it expects."""

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from os import environ
from pathlib import Path

import pytest

from benchmarks import timing, worlds
from benchmarks.timing import PATIENCE, Run
from benchmarks.workloads import (
    asking,
    crowded,
    daemon,
    decoding,
    drawing,
    first_deletes,
    improving,
    listing,
    looping,
    meanwhile,
    observing,
    page_readers,
    pausing,
    placing,
    preempting,
    preemptors,
    resizing,
    restoring,
    scheduling,
    serving,
    simulating,
    starting,
    storing,
    syncing,
    trees,
)
from benchmarks.worlds.shapes import shapes
from tests.benchmarks import small_world

SOURCE = Path(__file__).parents[2]
VARIANTS = (
    *("", "priorities", "groups", "budgets", "all-budgets", "spread", "tolerations"),
    *("spread-all", "anti-affinity"),
)


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(timing, "_MOST_CALLS", 2)
    yield
    gc.unfreeze()


def check(run: Run, count: int) -> None:
    assert len(run.wall_ms) == len(run.cpu_ms) == count
    assert min(run.wall_ms) > 0
    assert run.per_second > 0
    assert run.rss_mb > 1


def test_frames_are_counted_until_the_last_change_is_drawn() -> None:
    run = drawing.measure(what="frames", nodes=20, pods=40, rounds=3)
    check(run, len(run.wall_ms))


def test_pods_are_placed_while_readers_follow_the_page() -> None:
    check(page_readers.measure(nodes=8, readers=3, stalled=1, pods=10), 10)


def test_a_week_of_jobs_is_simulated() -> None:
    check(simulating.measure(nodes=2, jobs=10), 1)
    check(simulating.measure(nodes=2, jobs=10, as_one=True), 1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_pod_preempts(variant: str) -> None:
    check(preempting.measure(nodes=8, pods=1, variant=variant), 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_gang_preempts(variant: str) -> None:
    check(preempting.measure(nodes=8, pods=2, variant=variant), 2)


def test_a_pod_preempts_by_another_policy() -> None:
    check(preempting.measure(nodes=3, pods=1, policy="Upstream"), 2)


@pytest.mark.parametrize("variant", ["", "groups"])
def test_resizes(variant: str) -> None:
    check(resizing.measure(nodes=8, variant=variant), 2)


@pytest.mark.parametrize("is_full", [False, True], ids=["fits", "preempts"])
def test_a_tree_is_decided_about(is_full: bool) -> None:
    check(trees.measure(nodes=12, middles=2, leaves=2, pods=2, is_full=is_full), 2)


def test_each_preemptor_opens_a_plan() -> None:
    check(preemptors.measure(nodes=5, preemptors=4), 4)


def test_too_many_preemptors_are_an_error() -> None:
    with pytest.raises(SystemExit, match="3 preemptors evicted only"):
        preemptors.measure(nodes=0, preemptors=3)


@pytest.fixture
def _as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the modules of the source need not be compiled before."""
    for workload in (asking, daemon, first_deletes, pausing, starting):
        monkeypatch.setattr(
            workload, "compiled", lambda source: nullcontext({**environ, "PYTHONPATH": str(source)})
        )


@pytest.fixture
def _small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program for large worlds is not part of the repository."""
    monkeypatch.setattr(worlds.crowded, "maker", lambda: Path(small_world.__file__))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE.parent), prepend=":")


@pytest.mark.usefixtures("_small_world")
@pytest.mark.parametrize("pods", [1, 3])
def test_crowded_worlds(pods: int) -> None:
    run = crowded.measure(world="H1000", pods=pods, millicpu=16000, nodes=40)
    check(run, 2)
    assert run.asking == (pods > 1)  # a pod's plan is proved at once; groups run on several nodes


@pytest.mark.usefixtures("_small_world")
def test_plans_that_are_improved() -> None:
    check(improving.measure(world="H1000", pods=3, millicpu=16000, nodes=40), 2)


@pytest.mark.usefixtures("_small_world", "_as_it_is")
@pytest.mark.parametrize("live", [False, True], ids=["snapshot", "live"])
def test_what_if_is_asked(live: bool) -> None:
    run = asking.measure(SOURCE, live=live, world="H1000", pods=2, millicpu=16000, nodes=20, calls=1)
    check(run, 1)


@pytest.mark.parametrize("shape", [shape.name for shape in shapes()])
def test_shapes_of_pods(shape: str) -> None:
    check(placing.measure(nodes=50, shape=shape), 2)


@pytest.mark.parametrize("around", ["", "metrics", "journal"])
def test_scheduling(around: str) -> None:
    check(scheduling.measure(nodes=3, around=around, pods=4), 4)


SMALL: dict[str, tuple[Callable[[], Run], int]] = {
    "decoding": (decoding.measure, 2),
    "observing": (lambda: observing.measure(nodes=3, events=400), 2),
    "syncing": (lambda: syncing.measure(nodes=3), 1),
    "looping": (lambda: looping.measure(nodes=3, pods=4), 1),
    "listing": (lambda: listing.measure(what="page", nodes=3, pods=10), 2),
    "storing": (lambda: storing.measure(writes=200), 2),
    "storing on disk": (lambda: storing.measure(on_disk=True, writes=200), 2),
    "restoring": (lambda: restoring.measure(nodes=3, pods=10), 2),
    "drawing first": (lambda: drawing.measure(what="first", nodes=20, pods=40, visits=2), 2),
    "serving": (lambda: serving.measure(watchers=2, writes=10), 10),
}


@pytest.mark.parametrize("name", SMALL)
def test_others(name: str) -> None:
    measure, count = SMALL[name]
    check(measure(), count)


@pytest.mark.usefixtures("_as_it_is")
def test_the_daemon_starts() -> None:
    check(starting.measure(SOURCE, nodes=3, pods=10, starts=1), 1)


@pytest.mark.usefixtures("_as_it_is")
@pytest.mark.parametrize("what", ["load", "victims", "events"])
def test_the_daemon_under_load(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "ROUNDS", 2)
    monkeypatch.setattr(daemon, "_SETTLED_SECONDS", 0.1)
    monkeypatch.setattr(daemon, "_LOADS", {"load": ("plain", 3), "victims": ("large", 1)})
    monkeypatch.setattr(daemon, "_PASSING", 2)
    check(daemon.measure(SOURCE, what, nodes=3, pods=10), 2)


@pytest.mark.usefixtures("_small_world", "_as_it_is")
@pytest.mark.parametrize("pods", [1, 2])
def test_the_first_deletes_for_demands_that_come_together(pods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_deletes, "_MOST_ROUNDS", 2)
    monkeypatch.setattr(first_deletes, "_SETTLED_SECONDS", 0.1)
    run = first_deletes.measure(SOURCE, world="H1000", demands=2, pods=pods, millicpu=16000, nodes=20)
    check(run, 4)
    assert max(run.wall_ms) < 1e3 * PATIENCE


@pytest.mark.usefixtures("_as_it_is")
def test_the_longest_step_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "_ROUNDS", 2)
    monkeypatch.setattr(pausing, "_SETTLED_SECONDS", 0.1)
    check(pausing.measure(SOURCE, nodes=3, pods=10, passing=2), 2)


def test_pods_are_bound_meanwhile() -> None:
    run = meanwhile.measure(preempt=True, decide_meanwhile=True, seconds=0.5)
    assert min(run.wall_ms) >= meanwhile.CALL_SECONDS * 1e3
