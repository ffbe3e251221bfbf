"""How long does the mini cluster take for a list of pods, and how much memory has it, at a large size?"""

import gc
import time

from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, memory_mb, repeats, summed_up
from benchmarks.worlds.stored import fill

_QUERIES = {"all": {}, "page": {"limit": "500"}, "node": {"fieldSelector": "spec.nodeName=cpu-7"}}


def measure(what: str, nodes: int, pods: int) -> Run:
    store = find("Store")(time.time)
    fill(store, nodes, pods)
    gc.collect()
    memory = memory_mb()  # before answers, which are large and do not stay
    front = find("ApiServer")(store, time.time, find("ALL_FEATURES"))
    watch, spent = Stopwatch(), []
    for _ in repeats():
        with watch:
            answer = front.answer(find("ApiRequest")("GET", "/api/v1/pods", _QUERIES[what]))
        spent.append(watch.taken())
        if answer.status != 200:
            raise SystemExit(f"the list was answered with {answer.status}")
    return summed_up(spent, rss_mb=memory)
