"""How much work does the eviction of a unit throw away? What it did since its last checkpoint.

Only workloads that publish their checkpoints are protected: an annotation of a pod, or of a group around it,
has the time of the last one. Work is counted in seconds of a node: the seconds, times the largest share of an
average node that the pod requests.
"""

from datetime import datetime

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Units

CHECKPOINT = "reprieve.dev/last-checkpoint"


def lost_work(units: Units, allowed: Mask, now: float, cap: float) -> Ints:
    """[unit] seconds of a node; ``cap``: so many seconds at most count for a pod."""
    view = units.view
    rows = np.flatnonzero(units.of_pod != NOWHERE)
    rows = rows[allowed[units.of_pod[rows]]]
    moments = ((row, _moment(view, row, now)) for row in rows.tolist())
    seconds = {row: min(now - moment, cap) for row, moment in moments if moment is not None}
    lost = np.zeros(len(units.priority), np.int64)
    if seconds:
        found = np.array([*seconds], np.int64)
        work = np.ceil(np.array([*seconds.values()]) * _shares(view, found)).astype(np.int64)
        np.add.at(lost, units.of_pod[found], work)
    return lost


def _moment(view: Snapshot, row: int, now: float) -> float | None:
    """When the pod was saved last; None if that is not published, or cannot be right."""
    text = _published(view, row)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    saved = moment.timestamp() if moment.tzinfo is not None else None
    start = float(view.pods.start[row])
    is_plausible = saved is not None and saved <= now and not (np.isfinite(start) and saved < start)
    return saved if is_plausible else None


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
