"""The scene of `reprieve demo` that compares two algorithms in a crowded cluster."""

from reprieve_minicluster.scenes.crowd import GROUPS, NODES, SEED, CrowdedCluster
from tests.e2e.test_demo_preemption import shown


def row(text: str, algorithm: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(algorithm))
    return line.split()[1:]


def test_less_is_stopped_and_that_is_proved() -> None:
    text = shown("crowd")
    theirs, ours = row(text, "kube-scheduler's"), row(text, "LeastDisturbance")
    assert (theirs[-1], ours[-1]) == ("-", "yes")
    pods, groups, priority, beyond = zip(map(int, theirs[:4]), map(int, ours[:4]), strict=True)
    assert pods[1] * 3 < pods[0] * 2
    assert groups[1] < groups[0]
    assert priority[1] < priority[0]
    assert beyond[1] == 0 < beyond[0]


def test_a_seed_is_a_cluster() -> None:
    first, second = (list(CrowdedCluster(NODES, GROUPS, SEED).objects()) for _ in range(2))
    assert first == second
    assert first != list(CrowdedCluster(NODES, GROUPS, SEED + 1).objects())
