"""A fault plan is a pure function: the same seed gives the same faults, and they end in time."""

from collections import Counter

from reprieve.cluster.mini.faults import NO_FAULTS, CallFault, FaultPlan, WatchFault, everything


def test_the_same_seed_gives_the_same_faults() -> None:
    def drawn(seed: int) -> list[CallFault | None]:
        return [everything(seed, 0.1).on_call(i, 0.0) for i in range(200)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_each_fault_is_as_frequent_as_asked() -> None:
    plan = FaultPlan(3, changes=((WatchFault.LATE, 0.5), (WatchFault.DROP, 0.1)))
    counts = Counter(plan.on_change(i, 0.0) for i in range(10_000))
    assert abs(counts[WatchFault.LATE] - 5000) < 200
    assert abs(counts[WatchFault.DROP] - 1000) < 100
    assert set(counts) == {WatchFault.LATE, WatchFault.DROP, None}


def test_faults_end_when_told_to() -> None:
    plan = everything(1, 0.16, until=100.0)
    assert any(plan.on_call(i, 99.9) for i in range(50))
    assert not any(plan.on_call(i, 100.0) or plan.on_change(i, 100.0) for i in range(50))


def test_without_a_plan_nothing_goes_wrong() -> None:
    assert NO_FAULTS.on_call(1, 0.0) is None
    assert NO_FAULTS.on_change(1, 0.0) is None


def test_lateness_is_bounded() -> None:
    plan = FaultPlan(1, late_seconds=3.0)
    assert all(0.0 <= plan.lateness(i) < 3.0 for i in range(100))
