"""What is kept of evictions: each once, for as long as the window, and no more than fits."""

import pytest

from reprieve.model.effects import Target
from reprieve.model.workloads import PastEviction
from reprieve.scheduler.plans import recent_evictions
from reprieve.scheduler.plans.recent_evictions import RecentEvictions

ONE, TWO = (Target("Pod", "team", name, f"uid-{name}") for name in ("one", "two"))


def past(key: str, at: float, workload: str = "Job/team/batch") -> PastEviction:
    return PastEviction(workload=workload, key=key, at=at)


def test_an_eviction_counts_once() -> None:
    recent = RecentEvictions(60.0)
    for pod in (ONE, TWO):
        recent.count(past("PodGroup/team/g@d-1", 5.0), pod)
    recent.count(past("PodGroup/team/g@d-1", 3.0))
    assert recent.moments == {"Job/team/batch": [5.0]}


def test_a_whole_unit_counts_until_its_last_pod_stays() -> None:
    recent = RecentEvictions(60.0)
    for pod in (ONE, TWO):
        recent.count(past("PodGroup/team/g@d-1", 5.0), pod)
    assert not recent.take_back(ONE)
    assert recent.moments
    assert recent.take_back(TWO)
    assert recent.moments == {}
    assert not recent.take_back(TWO)


def test_what_has_left_the_window_is_forgotten() -> None:
    recent = RecentEvictions(60.0)
    recent.count(past("a", 0.0), ONE)
    recent.count(past("b", 30.0), TWO)
    recent.forget(59.9)
    assert recent.moments == {"Job/team/batch": [0.0, 30.0]}
    recent.forget(60.0)
    assert recent.moments == {"Job/team/batch": [30.0]}
    assert recent.counted_as(ONE) is None
    assert recent.counted_as(TWO) == past("b", 30.0)
    recent.forget(90.0)
    assert recent.moments == {}


def test_without_a_window_nothing_is_kept() -> None:
    recent = RecentEvictions(0.0)
    recent.count(past("a", 0.0), ONE)
    assert recent.moments == {}
    assert not recent.are_kept


def test_moments_are_in_order_even_if_marks_are_read_late() -> None:
    recent = RecentEvictions(60.0)
    for key, at in (("a", 20.0), ("b", 10.0), ("c", 30.0)):
        recent.count(past(key, at))
    assert recent.moments == {"Job/team/batch": [10.0, 20.0, 30.0]}


def test_a_clock_that_is_put_back_prolongs_nothing() -> None:
    recent = RecentEvictions(60.0)
    recent.count(past("a", 1000.0), ONE)
    recent.forget(600.0)
    assert recent.moments == {"Job/team/batch": [600.0]}
    recent.forget(660.0)
    assert recent.moments == {}


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_evictions, "_MOST", 3)
    recent = RecentEvictions(1e9)
    for i in range(10):
        recent.count(past(str(i), float(i), f"Job/team/{i}"))
    assert [*recent.moments] == ["Job/team/7", "Job/team/8", "Job/team/9"]
