"""How long does it take the scheduler to see a cluster for the first time, and how much memory has it then?

A unit is an object. The memory includes the interpreter and the modules of the product that are imported.
"""

import gc

from benchmarks.driving import batches, decoded, encoded
from benchmarks.product import find, moment_at
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.worlds.half_full import cluster


def measure(nodes: int) -> Run:
    scheduler, seen = find("Scheduler")(), find("Seen")
    watch, spent = Stopwatch(), []
    for batch in batches(encoded(value, number) for number, value in enumerate(cluster(nodes))):
        with watch:
            scheduler.observe([seen(decoded(raw)) for raw in batch], moment_at(0.0))
        spent.append(watch.taken(len(batch)))
    scheduler.observe([find("Synced")()], moment_at(0.0))
    gc.collect()
    return summed_up(spent)
