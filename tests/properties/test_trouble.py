"""However effects end and however late events are: no pod is lost or bound twice, no node overcommitted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.stage import remains

from reprieve.model.moment import Due
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.scheduler.settings import Settings
from tests.properties.troubled import Troubled

SEEDS = st.lists(st.integers(0, 2**32 - 1), min_size=10, max_size=80)
BOTH = pytest.mark.parametrize("settings", [Settings(policies={}), Settings()], ids=["gentle", "preempting"])


def assert_sound(now: Troubled) -> None:
    view = now.built()
    assert (view.requested <= view.allocatable).all(), "no node is overfull by our binds"
    uids = [bind.target.uid for bind in now.bound_by_us]
    assert len(uids) == len(set(uids)), "no pod is bound twice"


def assert_no_pod_waits_in_vain(now: Troubled) -> None:
    view = now.built()
    for (_, name), row in view.pods.rows.items():
        if view.where[row] < 0:
            assert not survey(Ask(view, row)).feasible.any(), f"{name} could run"


def assert_nothing_is_left(now: Troubled) -> None:
    for thing in list(now.objects.values()):
        now.remove(thing)
    now.calm_down(3600.0)
    assert remains(now.scheduler) == []
    assert now.scheduler.next_time() == Due()


@BOTH
@given(SEEDS)
def test_trouble_passes(settings: Settings, seeds: list[int]) -> None:
    now = Troubled(settings)
    now.go_through(seeds)
    assert_sound(now)
    now.calm_down(3600.0)
    assert_sound(now)
    assert_no_pod_waits_in_vain(now)
    assert_nothing_is_left(now)
