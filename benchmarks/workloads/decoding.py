"""How long does it take to decode a pod from JSON, as the API server sends it?"""

from benchmarks.driving import encoded
from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, repeats, summed_up
from benchmarks.worlds.half_full import running_pod

_PODS = 1000  # decoded at a time: one alone is over before the clocks move


def measure() -> Run:
    decode = find("decode")
    raw = [encoded(running_pod(i, f"node-{i:05d}"), i) for i in range(_PODS)]
    watch, spent = Stopwatch(), []
    for _ in repeats():
        with watch:
            for one in raw:
                decode(one)
        spent.append(watch.taken(_PODS))
    return summed_up(spent)
