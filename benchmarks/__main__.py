"""`make bench`: prints a table for people; `--json FILE` writes the same for programs."""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

from benchmarks.daemon import daemon
from benchmarks.keeping import keeping
from benchmarks.meanwhile import meanwhile
from benchmarks.measure import machine
from benchmarks.placement import SIZES, decoding, placement
from benchmarks.preemption import POLICIES, preemption
from benchmarks.scheduling import memory, scheduling
from benchmarks.serving import large_cluster, serving

_COLUMNS = ("fit mask", "filters", "decision")


Sizes = tuple[int, ...]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--nodes", type=int, action="append", help=f"cluster sizes, instead of {SIZES}")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="this part; can be given several times"
    )
    parser.add_argument("--json", type=Path, help="write the results there")
    arguments = parser.parse_args()
    sizes = tuple(arguments.nodes or SIZES)
    results: dict[str, object] = {"machine": machine()}
    for name in arguments.only or PARTS:
        print(f"\n{name}")
        results[name] = PARTS[name](sizes)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def _decoding() -> dict[str, object]:
    found = decoding()
    print(found)
    return found


def _placement(sizes: Sizes) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    print(f"{'nodes':>6}  {'shape':26}" + "".join(f"{c + ', us':>14}" for c in _COLUMNS))
    for row in placement(sizes):
        rows.append(row)
        times = "".join(f"{row[c]:14.1f}" for c in _COLUMNS)
        print(f"{row['nodes']:>6}  {row['shape']:26}{times}", flush=True)
    _print_medians(rows)
    return rows


def _scheduling(sizes: Sizes) -> list[dict[str, object]]:
    rows = []
    for nodes in sizes:
        row = {**scheduling(nodes), **memory(nodes)}
        rows.append(row)
        for name, value in row.items():
            print(f"{name:>40}  {value}")
        print(flush=True)
    return rows


def _preemption() -> list[dict[str, object]]:
    theirs = "kube-scheduler, ms"
    print(f"{'shape':>6}  {'variant':12}" + "".join(f"{p + ', ms':>14}" for p in POLICIES) + f"{theirs:>22}")
    rows = []
    for row in preemption():
        rows.append(row)
        times = "".join(f"{float(str(row[p])) / 1000:14.1f}" for p in POLICIES)
        known = f"{row[theirs]:22.1f}" if row[theirs] is not None else ""
        print(f"{row['shape']:>6}  {row['variant']:12}{times}{known}", flush=True)
    return rows


def _meanwhile() -> list[dict[str, object]]:
    columns = ("pods a second", "seconds until bound", "evicted")
    print(f"{'API calls take 200 ms':22}" + "".join(f"{column:>22}" for column in columns))
    rows = []
    for row in meanwhile():
        rows.append(row)
        print(f"{row['variant']:22}" + "".join(f"{row[c]:22}" for c in columns), flush=True)
    none, on, off = (float(str(row["pods a second"])) for row in rows)
    print(f"gate on: {on / none:.2f} of the rate without preemption, {on / off:.0f} times that of gate off")
    return rows


def _serving() -> list[dict[str, object]]:
    columns = ("writes a second", "deliveries a second")
    print(f"{'watchers':>8}" + "".join(f"{column:>22}" for column in columns))
    rows = []
    for row in serving():
        rows.append(row)
        print(f"{row['watchers']:>8}" + "".join(f"{row[c]:22.0f}" for c in columns), flush=True)
    return rows


def _figures(figures: Iterable[tuple[str, float]]) -> dict[str, float]:
    found = {}
    for name, value in figures:
        found[name] = value
        print(f"{name:>50}  {value:.6g}", flush=True)
    return found


def _print_medians(rows: list[dict[str, object]]) -> None:
    print()
    for nodes in dict.fromkeys(row["nodes"] for row in rows):
        times = [[float(str(row[c])) for row in rows if row["nodes"] == nodes] for c in _COLUMNS]
        print(f"{nodes:>6}  {'median of all shapes':26}" + "".join(f"{median(t):14.1f}" for t in times))


PARTS: dict[str, Callable[[Sizes], object]] = {
    "decoding": lambda _: _decoding(),
    "placement": _placement,
    "scheduling": _scheduling,
    "preemption": lambda _: _preemption(),
    "meanwhile": lambda _: _meanwhile(),
    "serving": lambda _: _serving(),
    "large cluster": lambda _: _figures(large_cluster().items()),
    "keeping": lambda _: _figures(keeping().items()),
    "daemon": lambda _: _figures(daemon()),
}


if __name__ == "__main__":
    main()
