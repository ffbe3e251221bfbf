"""What if pods were elsewhere: only the copy knows."""

import numpy as np
from tests.unit.model.things import a_node, a_pod, container

from reprieve.model.snapshot import Snapshot, build
from reprieve.model.whatif import moved, with_pod, without

CPU, PODS = 0, 3


def two_nodes() -> Snapshot:
    """p and q run on n with 1 and 2 cpu, w waits for 4."""
    sizes = {"p": ("n", "1"), "q": ("n", "2"), "w": ("", "4")}
    pods = [a_pod(name, on, containers=[container(cpu=cpu)]) for name, (on, cpu) in sizes.items()]
    return build([a_node("n"), a_node("m"), *pods]).snapshot


def test_pods_change_places_in_one_go() -> None:
    view = moved(two_nodes(), np.array([0, 2]), np.array([1, 0]))
    assert view.where.tolist() == [1, 0, 0]
    assert view.requested[CPU].tolist() == [6000, 1000]


def test_the_base_is_untouched_and_the_rest_is_shared() -> None:
    base = two_nodes()
    before = [array.copy() for array in (base.where, base.requested, base.nonzero)]
    view = with_pod(without(base, [0, 1]), 2, 0)
    for array, kept in zip((base.where, base.requested, base.nonzero), before, strict=True):
        assert np.array_equal(array, kept)
    assert view.nodes is base.nodes
    assert view.pods is base.pods
    assert not view.where.flags.writeable
    assert not view.requested.flags.writeable
