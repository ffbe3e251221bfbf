"""How long does it take the mini cluster's store to write a pod, in memory or on disk as well?"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.worlds.stored import new_pod, store_on

_WRITES = 5_000
_BATCH = 100


def measure(on_disk: bool = False, writes: int = _WRITES) -> Run:
    with TemporaryDirectory() as directory:
        backend = find("SqliteBackend")(Path(directory)) if on_disk else None
        store = store_on(backend)
        watch, spent = Stopwatch(), []
        for start in range(0, writes, _BATCH):
            bodies = [new_pod(number) for number in range(start, start + _BATCH)]
            with watch:
                for body in bodies:
                    store.create("pods", body)
            spent.append(watch.taken(_BATCH))
        if backend is not None:
            backend.close()
    return summed_up(spent)
