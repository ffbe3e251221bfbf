"""`make bench`: prints a table for people; `--json FILE` writes the same for programs."""

import argparse
import json
from pathlib import Path
from statistics import median

from benchmarks.measure import machine
from benchmarks.placement import SIZES, decoding, placement
from benchmarks.preemption import POLICIES, preemption
from benchmarks.serving import large_cluster, serving

_COLUMNS = ("fit mask", "filters", "decision")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--nodes", type=int, action="append", help=f"cluster sizes, instead of {SIZES}")
    parser.add_argument("--json", type=Path, help="write the results there")
    arguments = parser.parse_args()
    results: dict[str, object] = {"machine": machine(), "placement": [], "decoding": decoding()}
    print(f"decoding: {results['decoding']}")
    rows: list[dict[str, object]] = []
    print(f"\n{'nodes':>6}  {'shape':26}" + "".join(f"{c + ', us':>14}" for c in _COLUMNS))
    for row in placement(tuple(arguments.nodes or SIZES)):
        rows.append(row)
        times = "".join(f"{row[c]:14.1f}" for c in _COLUMNS)
        print(f"{row['nodes']:>6}  {row['shape']:26}{times}", flush=True)
    _print_medians(rows)
    results |= {"placement": rows, "preemption": _preemption()}
    results |= {"serving": _serving(), "large cluster": _large_cluster()}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def _preemption() -> list[dict[str, object]]:
    print(f"\n{'shape':>6}  {'variant':12}" + "".join(f"{p + ', ms':>14}" for p in POLICIES))
    rows = []
    for row in preemption():
        rows.append(row)
        times = "".join(f"{float(str(row[p])) / 1000:14.1f}" for p in POLICIES)
        print(f"{row['shape']:>6}  {row['variant']:12}{times}", flush=True)
    return rows


def _serving() -> list[dict[str, object]]:
    columns = ("writes a second", "deliveries a second")
    print(f"\n{'watchers':>8}" + "".join(f"{column:>22}" for column in columns))
    rows = []
    for row in serving():
        rows.append(row)
        print(f"{row['watchers']:>8}" + "".join(f"{row[c]:22.0f}" for c in columns), flush=True)
    return rows


def _large_cluster() -> dict[str, object]:
    print()
    found = large_cluster()
    for name, value in found.items():
        print(f"{name:>22}  {value:.6g}")
    return found


def _print_medians(rows: list[dict[str, object]]) -> None:
    print()
    for nodes in dict.fromkeys(row["nodes"] for row in rows):
        times = [[float(str(row[c])) for row in rows if row["nodes"] == nodes] for c in _COLUMNS]
        print(f"{nodes:>6}  {'median of all shapes':26}" + "".join(f"{median(t):14.1f}" for t in times))


if __name__ == "__main__":
    main()
