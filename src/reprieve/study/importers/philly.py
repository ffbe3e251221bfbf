"""Jobs of Microsoft's Philly trace as CSV, as in siasosp23/artifacts: a line a job.

Columns that are read: submit_time or arrival, duration, num_gpu or gpus, and, if there are any, jobid, vc or
user. A job of more than eight GPUs is a gang of pods of eight.
"""

from collections.abc import Mapping
from math import ceil

from reprieve.study.importers.rows import ImportedRows, RowError, label, number_in
from reprieve.study.job import GPU, Job
from reprieve.study.trace import Trace

ARRIVALS, GPUS, TENANTS = ("submit_time", "arrival", "time"), ("num_gpu", "num_gpus", "gpus"), ("vc", "user")
DRAWN = (0, 0, 100, 1000)
_GPUS_OF_A_NODE = 8


def is_one(columns: frozenset[str]) -> bool:
    return "duration" in columns and any(c in columns for c in ARRIVALS) and any(c in columns for c in GPUS)


def read(name: str, rows: ImportedRows) -> Trace:
    found = rows.jobs(_job)
    invented = (
        f"the trace has no priorities: they are drawn from {', '.join(map(str, DRAWN))}",
        "cpu and memory are 8 cores and 32 GiB a GPU",
    )
    return rows.trace(name, found, invented, DRAWN)


def _job(row: Mapping[str, str], line: int) -> Job:
    gpus = ceil(number_in(row, *GPUS))
    if gpus < 1:
        raise RowError(f"GPUs: expected at least 1, got {gpus}")
    pods = ceil(gpus / _GPUS_OF_A_NODE)
    each = ceil(gpus / pods)
    tenant = next((row[column] for column in TENANTS if row.get(column)), "")
    return Job(
        name=f"job-{line}",
        arrival=number_in(row, *ARRIVALS),
        duration=number_in(row, "duration"),
        pods=pods,
        gang=pods if pods > 1 else 0,
        requests=(("cpu", str(8 * each)), ("memory", f"{32 * each}Gi"), (GPU, str(each))),
        tenant=label(tenant),
    )
