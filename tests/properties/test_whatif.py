"""What-ifs: they leave their base alone, can be taken back, and equal a cluster built that way."""

import copy
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import moved, with_pod, without
from tests.properties.answers import answers
from tests.properties.vocabulary import some
from tests.properties.worlds import World, built, worlds

SEEDS = st.integers(0, 2**32 - 1)
Moves = dict[int, int]  # the row of a pod and the row of its new node, or nowhere


def random_moves(rng: random.Random, view: Snapshot) -> Moves:
    nodes = range(NOWHERE, len(view.nodes))
    return {pod: rng.choice(nodes) for pod in some(rng, range(len(view.pods)))}


def after(view: Snapshot, moves: Moves) -> Snapshot:
    return moved(view, np.array(list(moves), np.int64), np.array(list(moves.values()), np.int64))


def arrays(thing: object, path: str = "view") -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """Every array that can be reached from a record, memos included."""
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from arrays(value, f"{path}[{key!r}]")
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from arrays(getattr(thing, field.name), f"{path}.{field.name}")


@given(worlds(), SEEDS)
def test_a_what_if_never_changes_its_base(world: World, seed: int) -> None:
    base, _ = built(world)
    answers(base)
    before = {path: array.tobytes() for path, array in arrays(base)}
    answers(after(base, random_moves(random.Random(seed), base)))
    now = {path: array.tobytes() for path, array in arrays(base)}
    assert before.items() <= now.items(), "memos may have grown, nothing else"


@given(worlds(), SEEDS)
def test_every_array_is_read_only(world: World, seed: int) -> None:
    base, _ = built(world)
    answers(base)
    view = after(base, random_moves(random.Random(seed), base))
    answers(view)
    assert [path for path, array in arrays(view) if array.flags.writeable] == []


@given(worlds(), SEEDS)
def test_what_was_taken_out_and_put_back_is_as_before(world: World, seed: int) -> None:
    base, _ = built(world)
    gone = some(random.Random(seed), [int(pod) for pod in np.flatnonzero(base.where != NOWHERE)])
    view = without(base, gone)
    for pod in gone:
        view = with_pod(view, pod, int(base.where[pod]))
    assert np.array_equal(view.where, base.where)
    assert np.array_equal(view.requested, base.requested)
    assert np.array_equal(view.nonzero, base.nonzero)
    assert answers(view) == answers(base)


@given(worlds(), SEEDS)
def test_a_what_if_equals_a_cluster_built_that_way(world: World, seed: int) -> None:
    base, _ = built(world)
    moves = random_moves(random.Random(seed), base)
    assert answers(after(base, moves)) == answers(built(rearranged(world, base, moves))[0])


def rearranged(world: World, view: Snapshot, moves: Moves) -> World:
    """The same objects with pods on the nodes they were moved to."""
    changed = copy.deepcopy(world)
    places = {view.pods.compiled[pod].pod.metadata.uid: node for pod, node in moves.items()}
    for thing in (*changed.objects, changed.newcomer):
        node = places.get(thing["metadata"].get("uid")) if thing["kind"] == "Pod" else None
        if node is not None:
            thing["spec"]["nodeName"] = "" if node == NOWHERE else view.nodes.names[node]
    return changed
