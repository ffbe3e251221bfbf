"""How many pods does the scheduler place in a second, alone or with what looks on around it?

A pod's time is that of its decision, and of what comes back: that it is bound, and that it is seen there.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.driving import Played
from benchmarks.product import find
from benchmarks.timing import Run, Spent, Stopwatch, summed_up
from benchmarks.worlds.half_full import TEMPLATES, arriving_pod, cluster

PODS = 2000


def measure(nodes: int, around: str = "", pods: int = PODS, templates: int = TEMPLATES) -> Run:
    """``around``: nothing, ``metrics``, or ``journal`` for metrics and a journal."""
    played = Played(cluster(nodes))
    with TemporaryDirectory() as directory, _watched(played, around, Path(directory)):
        return summed_up([*scheduled(played, pods, templates)])


@contextmanager
def _watched(played: Played, around: str, directory: Path) -> Iterator[None]:
    if not around:
        yield
    elif around == "metrics":
        observe(played, _telemetry(played))
        yield
    else:
        with closing(find("Journal")(directory, {}, print)) as journal:
            telemetry = _telemetry(played)
            played.scheduler = find("Journaled")(played.scheduler, journal)
            observe(played, telemetry)
            yield


def _telemetry(played: Played) -> Any:
    telemetry = find("Telemetry")()
    telemetry.read_from(played.scheduler.pending, played.scheduler.known)
    return telemetry


def observe(played: Played, observer: Any) -> None:
    """Shows the observer all that the scheduler does; on the clock of the play decisions take no time."""
    played.scheduler = find("ObservedScheduler")(played.scheduler, lambda: played.now, [observer])


def scheduled(played: Played, pods: int, templates: int = TEMPLATES) -> Iterator[Spent]:
    """Pods arrive together, and are placed one by one; what each of them took."""
    made = (arriving_pod(i, templates) for i in range(pods))
    arriving = {pod["metadata"]["name"]: pod for pod in made}
    played.observe(played.seen(arriving.values()))
    done, bind = find("Done"), find("Bind")
    watch = Stopwatch()
    for _ in range(pods):
        with watch:
            effects = played.decide()
        events = [done(effect) for effect in effects]
        for effect in effects:
            if isinstance(effect, bind):
                waiting = arriving.pop(effect.target.name)
                events += played.seen([{**waiting, "spec": {**waiting["spec"], "nodeName": effect.node}}])
        with watch:
            played.observe(events)
        yield watch.taken()
    if arriving:
        raise SystemExit(f"{len(arriving)} of {pods} pods were not placed")
