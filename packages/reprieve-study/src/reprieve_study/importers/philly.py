"""Jobs of Microsoft's Philly trace as CSV, as in siasosp23/artifacts: a line a job.

Columns that are read: timestamp (or submit_time, time), duration, num_gpus (or num_gpu, gpus), and, if there
is one, cluster (or vc, user) as the tenant. A timestamp is a date or a number of seconds.
"""

from math import ceil

from reprieve_study.importers.rows import (
    ImportedRows,
    Row,
    RowError,
    drawn_sentence,
    duration_in,
    label,
    number_in,
    seconds_in,
)
from reprieve_study.job import GPU, Job
from reprieve_study.trace import MOST_PODS, Trace

ARRIVALS, GPUS = ("timestamp", "submit_time", "arrival", "time"), ("num_gpus", "num_gpu", "gpus")
TENANTS = ("cluster", "vc", "user")
DRAWN = (0, 0, 100, 1000)
_GPUS_OF_A_NODE = 8


def is_one(columns: frozenset[str]) -> bool:
    return "duration" in columns and any(c in columns for c in ARRIVALS) and any(c in columns for c in GPUS)


def read(name: str, rows: ImportedRows) -> Trace:
    found = rows.jobs(lambda row, line: _job(row, line, rows.priority(row)))
    invented = (
        "cpu and memory are 8 cores and 32 GiB a GPU",
        f"a job of more than {_GPUS_OF_A_NODE} GPUs is a gang of pods of up to {_GPUS_OF_A_NODE}",
    )
    if rows.mapping is not None:
        return rows.trace(name, found, invented)
    return rows.trace(name, found, (drawn_sentence(DRAWN), *invented), DRAWN)


def _job(row: Row, line: int, priority: int | None) -> Job:
    gpus = ceil(number_in(row, *GPUS, most=MOST_PODS))
    if gpus < 1:
        raise RowError(f"GPUs: expected at least 1, got {gpus}")
    pods = ceil(gpus / _GPUS_OF_A_NODE)
    each = ceil(gpus / pods)
    tenant = next((row[column] for column in TENANTS if row.get(column)), "")
    return Job(
        name=f"job-{line}",
        arrival=seconds_in(row, *ARRIVALS),
        duration=duration_in(row, "duration"),
        pods=pods,
        gang=pods if pods > 1 else 0,
        requests=(("cpu", str(8 * each)), ("memory", f"{32 * each}Gi"), (GPU, str(each))),
        priority=priority or 0,
        tenant=label(tenant),
    )
