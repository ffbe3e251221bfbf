"""How much work does the eviction of a unit throw away? What it did since its last checkpoint.

Only workloads that publish their checkpoints are protected: an annotation of a pod, or of a group around it,
has the time of the last one. Work is counted in seconds of a node: the seconds, times the largest share of an
average node that the pod requests.
"""

import math
import re
from datetime import datetime

import numpy as np

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Units

# RFC 3339, as Kubernetes writes times. Python alone also reads weeks, and dates without separators.
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_SHOWN = 40  # characters of a value that is ignored


def lost_work(units: Units, wanted: Mask, now: float, cap: float) -> Ints:
    """[unit] seconds of a node, of these units; ``cap``: so many seconds at most count for a pod."""
    view = units.view
    rows = np.flatnonzero(units.of_pod != NOWHERE)
    rows = rows[wanted[units.of_pod[rows]]]
    moments = ((row, _moment(view, row, now)) for row in _publishing(view, rows))
    seconds = {row: min(now - moment, cap) for row, moment in moments if moment is not None}
    lost = np.zeros(len(units.priority), np.int64)
    if seconds:
        found = np.array([*seconds], np.int64)
        work = np.ceil(np.array([*seconds.values()]) * _shares(view, found)).astype(np.int64)
        np.add.at(lost, units.of_pod[found], work)
    return lost


def _publishing(view: Snapshot, rows: Ints) -> list[int]:
    """The pods with a checkpoint of their own or of a group."""
    groups = view.pods.groups
    publishing = view.groups.columns(groups.things).publishing[groups.codes[rows]]
    found: list[int] = rows[publishing | view.pods.publishing[rows]].tolist()
    return found


def _moment(view: Snapshot, row: int, now: float) -> float | None:
    """When the pod was saved last; None if that is not published, or cannot be right."""
    text = _published(view, row)
    if text is None or checkpoint_fault(text, float(view.pods.start[row]), now):
        return None
    return _saved_at(text)


def checkpoint_fault(text: str, start: float, now: float) -> str:
    """Why a published checkpoint is ignored; empty if it is not. An infinite ``start`` is not known."""
    saved = _saved_at(text)
    if saved is None:
        fault = "expected a time with a zone, as 2026-01-05T10:30:00Z"
    elif saved > now:
        fault = "it is in the future"
    elif math.isfinite(start) and saved < start:
        fault = "it is before the start"
    else:
        return ""
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f'annotation {CHECKPOINT} is ignored: {fault}, got "{shown}"'


def _saved_at(text: str) -> float | None:
    if not _WRITTEN.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _published(view: Snapshot, row: int) -> str | None:
    """The pod's own annotation, or that of the innermost group that has one."""
    metas = [view.pods.compiled[row].pod.metadata]
    key = view.pods.groups[row]
    if key is not None:
        metas += [group.metadata for _, group in view.groups.chain(key)]
    return next((meta.annotations[CHECKPOINT] for meta in metas if CHECKPOINT in meta.annotations), None)


def _shares(view: Snapshot, rows: Ints) -> Floats:
    """[pod] the largest share of an average node that it requests."""
    average = view.allocatable.mean(axis=1)
    used = average > 0
    shares: Floats = (view.pods.requests[np.ix_(used, rows)] / average[used, None]).max(axis=0, initial=0.0)
    return np.minimum(shares, 1.0)
