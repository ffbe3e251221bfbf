"""Pods of Alibaba's openb traces, as in hkust-adsl/kubernetes-scheduler-simulator: a CSV with a line a pod.

Columns that are read: name, cpu_milli, memory_mib, num_gpu, gpu_milli, qos, creation_time, deletion_time.
"""

from collections.abc import Mapping
from math import ceil

from reprieve.study.importers.rows import ImportedRows, RowError, number_in, seconds_in
from reprieve.study.job import GPU, Job
from reprieve.study.trace import Trace

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "qos", "creation_time", "deletion_time")
PRIORITIES = {"LS": 1000, "Guaranteed": 1000, "Burstable": 100, "BE": 0}


def read(name: str, rows: ImportedRows, priorities: Mapping[str, int]) -> Trace:
    """``priorities``: by QoS class; empty: those of this module."""
    table = priorities or PRIORITIES
    found = rows.jobs(lambda row, line: _job(row, line, table))
    shown = ", ".join(f"{qos} {priority}" for qos, priority in table.items())
    invented = (
        f"priorities follow from the column qos: {shown}",
        "shares of a GPU count as a whole one",
    )
    return rows.trace(name, found, invented if not priorities else invented[1:])


def _job(row: Mapping[str, str], line: int, priorities: Mapping[str, int]) -> Job:
    begin, end = seconds_in(row, "creation_time"), seconds_in(row, "deletion_time")
    if end <= begin:
        raise RowError(f"deletion_time: expected more than creation_time, {begin:.15g}, got {end:.15g}")
    qos = row["qos"]
    if qos not in priorities:
        raise RowError(f"qos: expected one of {', '.join(priorities)}, got {qos[:60]!r}; see --map qos=…")
    gpus = ceil(number_in(row, "num_gpu"))
    asked = [
        ("cpu", f"{number_in(row, 'cpu_milli'):.0f}m"),
        ("memory", f"{number_in(row, 'memory_mib'):.0f}Mi"),
    ]
    return Job(
        name=f"pod-{line}",
        arrival=begin,
        duration=end - begin,
        requests=(*asked, (GPU, str(gpus))) if gpus else tuple(asked),
        priority=priorities[qos],
    )
