"""What does a job cost while thousands of others wait for room in a full cluster?

They are of a few templates and come together, and each runs for a while as soon as it has a node. Whenever
one ends, its room is for one of those that wait, and the others have to wait on. The clock is the
benchmark's own.
"""

from heapq import heappop, heappush
from typing import Any

from benchmarks.driving import Played
from benchmarks.product import find, moment_at
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.worlds.full import empty_nodes
from benchmarks.worlds.objects import Json, container, pod

_SHORTEST, _LENGTHS = 140, 121  # seconds that jobs run, and how many lengths there are
_TEMPLATES = 5


def measure(nodes: int, jobs: int) -> Run:
    played = Played(empty_nodes(nodes))
    waiting = {job["metadata"]["name"]: job for job in map(_job, range(jobs))}
    played.observe(played.seen(waiting.values()))
    watch, running = Stopwatch(), list[tuple[float, str, Json]]()
    with watch:
        _decided(played, waiting, running)
    while waiting or running:
        due = played.scheduler.next_time()
        due = getattr(due, "on_one_clock", due)  # earlier revisions tell a number
        ends = running[0][0] if running else None
        played.now = min(moment for moment in (due, ends) if moment is not None)
        ended = []
        while running and running[0][0] <= played.now:
            ended.append(heappop(running)[2])
        events = [*played.seen({**job, "status": {"phase": "Succeeded"}} for job in ended)]
        with watch:
            played.observe(events)
            _decided(played, waiting, running)
    return summed_up([watch.taken(jobs)])


def _decided(played: Played, waiting: dict[str, Json], running: list[tuple[float, str, Json]]) -> None:
    """Decides until no demand is due; jobs that get a node run there at once."""
    done, bind = find("Done"), find("Bind")
    while (decided := played.scheduler.decide(moment_at(played.now))) is not None:
        events: list[Any] = []
        for effect in decided.effects:
            events.append(done(effect))
            if isinstance(effect, bind):
                name = effect.target.name
                job = waiting.pop(name)
                job = {**job, "spec": {**job["spec"], "nodeName": effect.node}}
                events += played.seen([job])
                heappush(running, (played.now + _seconds(name), name, job))
        if events:
            played.observe(events)


def _job(i: int) -> Json:
    memory = f"{100 + i % _TEMPLATES}Mi"
    spec: Json = {"schedulerName": "reprieve", "containers": [container("1", memory)]}
    return {**pod(f"job-{i}", {"app": "job"}, spec), "status": {"phase": "Pending"}}


def _seconds(name: str) -> float:
    """Spread out, so that jobs end one by one."""
    number = int(name.removeprefix("job-"))
    return _SHORTEST + number * 37 % _LENGTHS + number / 1e4
