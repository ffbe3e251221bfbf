"""What does a preemptor cost while many others have open plans?

All come together. Each decision is carried out until its victims are terminating; none of them leaves, so
that every plan stays open.
"""

from benchmarks.driving import Played
from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.worlds.full import cluster, newcomers


def measure(nodes: int, preemptors: int) -> Run:
    played = Played(cluster(nodes))
    played.observe(played.seen(thing for i in range(preemptors) for thing in newcomers(f"high-{i}", 1)))
    done, evict = find("Done"), find("Evict")
    watch, spent, evictions = Stopwatch(), [], 0
    for _ in range(preemptors):
        with watch:
            effects = played.decide()
            while effects:
                evictions += sum(isinstance(effect, evict) for effect in effects)
                effects = played.observe([done(effect) for effect in effects])
        spent.append(watch.taken())
    if evictions < preemptors:
        raise SystemExit(f"{preemptors} preemptors evicted only {evictions} pods")
    return summed_up(spent)
