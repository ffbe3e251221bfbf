"""How many events does the scheduler take in a second, from JSON?

Half of them are new pods; the others are reports about nodes and running pods that change nothing.
"""

from collections.abc import Iterator

from benchmarks.driving import Played, decoded, encoded
from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.worlds.half_full import PODS_PER_NODE, arriving_pod, cluster, running_pod
from benchmarks.worlds.objects import Json

EVENTS = 20_000
_BATCH = 200  # events that are observed together


def measure(nodes: int, events: int = EVENTS) -> Run:
    played, seen = Played(cluster(nodes)), find("Seen")
    raw = [encoded(value, 1_000_000 + i) for i, value in enumerate(_mixture(nodes, events))]
    watch, spent = Stopwatch(), []
    for start in range(0, len(raw), _BATCH):
        played.later()
        batch = raw[start : start + _BATCH]
        with watch:
            played.observe([seen(decoded(one)) for one in batch])
        spent.append(watch.taken(len(batch)))
    return summed_up(spent)


def _mixture(nodes: int, events: int) -> Iterator[Json]:
    known = list(cluster(nodes))
    for i in range(events // 4):
        yield arriving_pod(2 * i)
        yield arriving_pod(2 * i + 1)
        reporting = running_pod(i % (nodes * PODS_PER_NODE), f"node-{i % nodes:05d}")
        condition = {"type": "Ready", "status": "True", "lastProbeTime": None}
        yield {**reporting, "status": {"phase": "Running", "conditions": [condition]}}
        heartbeat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
        here = known[i % nodes]
        yield {**here, "status": {**here["status"], "conditions": [heartbeat]}}
