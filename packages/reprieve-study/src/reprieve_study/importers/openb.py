"""Alibaba's openb traces, as in hkust-adsl/kubernetes-scheduler-simulator: CSV files of pods and of nodes.

Columns of pods that are read: name, cpu_milli, memory_mib, num_gpu, gpu_spec, qos, creation_time,
deletion_time, and, if there is one, scheduled_time; of nodes: sn, cpu_milli, memory_mib, gpu, model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from reprieve.model.objects import Node
from reprieve_study.importers.rows import ImportedRows, Row, RowError, number_in, seconds_in
from reprieve_study.job import GPU, Job
from reprieve_study.node_pools import node
from reprieve_study.text_lines import TraceError
from reprieve_study.trace import Trace

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "qos", "creation_time", "deletion_time")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu")
PRIORITIES = {"LS": 1000, "Guaranteed": 1000, "Burstable": 100, "BE": 0}
_MODEL = "alibabacloud.com/gpu-card-model"
_PODS_OF_A_NODE = "1001"  # as its YAML files have it


def read(name: str, rows: ImportedRows) -> Trace:
    """Priorities follow from the QoS class, if no mapping is given."""
    pods = _Pods()
    found = rows.jobs(lambda row, line: pods.job(row, line, _priority(rows, row)))
    shown = ", ".join(f"{qos} {priority}" for qos, priority in PRIORITIES.items())
    invented = () if rows.mapping is not None else (f"priorities follow from the column qos: {shown}",)
    return rows.trace(name, found, (*invented, *pods.invented()))


def _priority(rows: ImportedRows, row: Row) -> int:
    mapped = rows.priority(row)
    if mapped is not None:
        return mapped
    qos = row["qos"]
    if qos not in PRIORITIES:
        raise RowError(f"qos: expected one of {', '.join(PRIORITIES)}, got {qos[:60]!r}; see --map qos=…")
    return PRIORITIES[qos]


def nodes(name: str, rows: ImportedRows) -> tuple[Node, ...]:
    """Raises TraceError: a cluster is read whole or not at all."""
    found = tuple(rows.read(_node))
    if rows.problems:
        raise TraceError(f"{name}: {rows.problems[0]}")
    names = [one.metadata.name for one in found]
    if len(set(names)) < len(names):
        raise TraceError(f"{name}: expected a name for each node, got one twice")
    return found


def _node(row: Row, _line: int) -> Node:
    if not row["sn"]:
        raise RowError("sn: expected a name, got nothing")
    offered = {**_cpu_and_memory(row), "pods": _PODS_OF_A_NODE}
    gpus = ceil(number_in(row, "gpu"))
    model = row.get("model", "")
    return node(row["sn"], {**offered, GPU: str(gpus)} if gpus else offered, {_MODEL: model} if model else {})


def _cpu_and_memory(row: Row) -> dict[str, str]:
    cpu, memory = number_in(row, "cpu_milli"), number_in(row, "memory_mib")
    return {"cpu": f"{cpu:.0f}m", "memory": f"{memory:.0f}Mi"}


@dataclass(slots=True)
class _Pods:
    """Rows of pods, and how many of them say what jobs cannot."""

    never_ran: int = 0
    shares: int = 0
    models: int = 0

    def job(self, row: Row, line: int, priority: int) -> Job:
        begin, end = seconds_in(row, "creation_time"), seconds_in(row, "deletion_time")
        if end <= begin:
            raise RowError(f"deletion_time: expected more than creation_time, {begin:.15g}, got {end:.15g}")
        gpus = ceil(number_in(row, "num_gpu"))
        asked = tuple(_cpu_and_memory(row).items())
        scheduled = seconds_in(row, "scheduled_time") if row.get("scheduled_time") else None
        self.never_ran += "scheduled_time" in row and scheduled is None
        self.shares += gpus == 1 and row.get("gpu_milli", "1000") not in {"1000", ""}
        self.models += bool(row.get("gpu_spec"))
        ran = end - scheduled if scheduled is not None and begin < scheduled < end else end - begin
        return Job(
            name=f"pod-{line}",
            arrival=begin,
            duration=ran,
            requests=(*asked, (GPU, str(gpus))) if gpus else asked,
            priority=priority,
        )

    def invented(self) -> Iterator[str]:
        if self.never_ran:
            yield f"{self.never_ran} pods were never scheduled: they run for as long as they waited"
        if self.shares:
            yield f"{self.shares} pods request a share of a GPU, which counts as a whole one"
        if self.models:
            yield f"{self.models} pods name models of GPUs (gpu_spec), which is not taken over"
