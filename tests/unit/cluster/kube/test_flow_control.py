"""How fast, and how long to wait."""

import pytest

from reprieve.cluster.kube.flow_control import ReadPause, RetryBackoff, TokenBucket


def test_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(rate=10, burst=3)
    assert [bucket.take(0.0) for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.take(0.2) == pytest.approx(0.1)
    assert [bucket.take(100.0) for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_after_a_rest_there_is_no_burst() -> None:
    bucket = TokenBucket(rate=10, burst=3)
    bucket.rest(until=5.0)
    bucket.rest(until=2.0)
    assert [bucket.take(1.0) for _ in range(3)] == pytest.approx([4.0, 4.1, 4.2])
    assert bucket.take(5.1) == pytest.approx(0.2)


def test_retry_after_holds_without_a_rate_limit() -> None:
    bucket = TokenBucket(rate=0, burst=1)
    bucket.rest(until=5.0)
    assert [bucket.take(now) for now in (1.0, 6.0)] == [4.0, 0.0]


def test_a_caller_that_gives_up_takes_no_token() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    assert [bucket.take(0.0, longest=2.0) for _ in range(10)] == [0.0, 1.0, 2.0, *[3.0] * 7]
    assert bucket.take(2.0, longest=2.0) == 1.0, "callers that gave up took no token"


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_no_limit(rate: float) -> None:
    bucket = TokenBucket(rate, burst=1)
    assert [bucket.take(0.0) for _ in range(50)] == [0.0] * 50


def test_pauses_double_up_to_a_limit_and_differ_by_name() -> None:
    pauses = RetryBackoff("Pod", first=1, longest=10)
    lengths = [pauses.after(failures) for failures in range(1, 8)]
    assert lengths == sorted(lengths)
    assert lengths[1] == pytest.approx(2 * lengths[0])
    assert lengths[-1] == lengths[-2] <= 15
    assert len({RetryBackoff(name).after(1) for name in ("Pod", "Node", "Service")}) == 3
    assert pauses.after(10_000) == lengths[-1]


def test_a_quiet_stream_is_read_at_once() -> None:
    pause = ReadPause()
    assert [pause.after(waited, 1500) for waited in (0.005, 0.1, 60.0)] == [0.0] * 3


def test_a_stream_of_small_messages_is_read_in_batches() -> None:
    pause = ReadPause()
    pauses = [pause.after(0.001, 1500) for _ in range(40)]
    assert pauses[:3] == pytest.approx([0.001, 0.002, 0.003])
    assert pauses[-1] == pytest.approx(0.02)
    assert pause.after(0.01, 1500) == 0.0, "a message was waited for: the stream is quiet"
    assert pause.after(0.001, 1500) == pytest.approx(0.001)


def test_a_list_is_read_without_pauses() -> None:
    pause = ReadPause()
    assert [pause.after(0.0, 64 * 1024) for _ in range(5)] == [0.0] * 5
