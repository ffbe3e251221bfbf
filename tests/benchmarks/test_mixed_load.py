"""What the mixed load says of what it measured."""

from benchmarks.mixed_load import ACTS, Measured


def test_what_is_told() -> None:
    measured = Measured(memory=[80, 95, 90])
    measured.seconds["get"] = [0.001 * i for i in range(1, 101)]
    measured.seconds["list"] = [0.5]
    measured.errors["get: 500"] += 1
    lines = measured.lines(minutes=1.0)
    assert lines[:3] == [
        "101 requests in 1.0 min: 2 per second",
        "memory: 80 MB at the start, 90 MB at the end, 95 MB at most",
        "errors: 1 {'get: 500': 1}",
    ]
    get = next(line for line in lines if line.startswith("get"))
    assert " ".join(get.split()) == "get 100 p50 50.0 ms p99 99.0 ms max 100.0 ms"


def test_every_act_has_its_share() -> None:
    assert all(weight > 0 for weight in ACTS.values())
