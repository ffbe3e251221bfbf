"""How long does it take the mini cluster to read its objects from disk when it starts?"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, repeats, summed_up
from benchmarks.worlds.stored import fill


def measure(nodes: int, pods: int) -> Run:
    with TemporaryDirectory() as directory:
        disk = find("Disk")(Path(directory))
        fill(find("Store")(time.time, disk=disk), nodes, pods)
        disk.close()
        watch, spent = Stopwatch(), []
        for _ in repeats():
            with watch:
                disk = find("Disk")(Path(directory))
                store = find("Store")(time.time, disk=disk)
            spent.append(watch.taken())
            if len(store.list(("pods",)).items) != pods:
                raise SystemExit("the store came back without some of its pods")
            disk.close()
    return summed_up(spent)
