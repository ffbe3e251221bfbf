"""How long does it take the mini cluster to read its objects from disk when it starts?"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, repeats, summed_up
from benchmarks.worlds.stored import fill, store_on


def measure(nodes: int, pods: int) -> Run:
    with TemporaryDirectory() as directory:
        backend = find("SqliteBackend")(Path(directory))
        fill(store_on(backend), nodes, pods)
        backend.close()
        watch, spent = Stopwatch(), []
        for _ in repeats():
            with watch:
                backend = find("SqliteBackend")(Path(directory))
                store = store_on(backend)
            spent.append(watch.taken())
            if len(store.list(("pods",)).items) != pods:
                raise SystemExit("the store came back without some of its pods")
            backend.close()
    return summed_up(spent)
