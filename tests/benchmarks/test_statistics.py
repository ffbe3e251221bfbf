"""What measured times say."""

import pytest

from benchmarks.statistics import critical_value, percentile, ratio

THEIRS = [10.0, 10.4, 9.9, 10.1, 10.2, 9.8, 10.0]


@pytest.mark.parametrize(("pairs", "value"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52)])
def test_critical_values_are_those_of_the_tables(pairs: int, value: int) -> None:
    assert critical_value(pairs, 0.95) == value


def test_too_few_pairs_give_no_interval() -> None:
    with pytest.raises(ValueError, match="5 pairs are too few"):
        critical_value(5, 0.95)


def test_the_ratio_of_the_same_times_is_one() -> None:
    found = ratio(THEIRS, THEIRS)
    assert (found.estimate, found.low, found.high) == (1, 1, 1)


def test_a_difference_larger_than_the_noise_is_seen() -> None:
    found = ratio([8.1, 7.9, 8.0, 8.2, 8.1, 7.8, 8.0], THEIRS)
    assert found.low < found.estimate < found.high < 0.82
    assert found.estimate == pytest.approx(0.8, abs=0.02)


def test_noise_is_no_difference() -> None:
    found = ratio([10.1, 9.9, 10.2, 10.0, 9.9, 10.1, 9.9], THEIRS)
    assert found.low < 1 < found.high


def test_one_disturbed_run_does_not_hide_that_there_is_no_difference() -> None:
    found = ratio([10.0, 10.4, 9.9, 30.0, 10.2, 9.8, 10.0], THEIRS)
    assert found.estimate == pytest.approx(1.0, abs=0.01)
    assert found.low == pytest.approx(1.0, abs=0.01)


def test_swapping_the_revisions_inverts_the_ratio() -> None:
    ours = [9.1, 9.4, 9.0, 9.9, 9.2, 8.7, 9.5]
    there, back = ratio(ours, THEIRS), ratio(THEIRS, ours)
    assert (back.estimate, back.low, back.high) == pytest.approx(
        (1 / there.estimate, 1 / there.high, 1 / there.low)
    )


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([float(i) for i in range(1, 101)], 0.99) == 99
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3
    assert percentile([7.0], 0.99) == 7
