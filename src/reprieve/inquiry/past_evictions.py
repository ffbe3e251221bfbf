"""Which evictions of workloads does a cluster still show, in the events of victims and in marks?

What a scheduler has in its memory is not to be read; a new leader would find the same as this module.
"""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.seen_events import all_events
from reprieve.model.formatting import lasted
from reprieve.model.snapshot import Snapshot
from reprieve.model.workloads import PastEviction, moments_of
from reprieve.preemption.eviction_limit import EvictionLimit
from reprieve.scheduler.eviction_notes import EVENTS_KEPT, PREEMPTED, marked_evictions, noted_eviction


def noted_evictions(cluster: DecodedCluster) -> tuple[PastEviction, ...]:
    """What events say, the oldest first."""
    events = (event for event in all_events(cluster) if event.reason == PREEMPTED)
    found = (noted_eviction(event.about, event.text, event.at) for event in events)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.at, one.key)))


def with_evictions(view: Snapshot, cluster: DecodedCluster, now: float) -> Snapshot:
    """The snapshot, with all that events and marks say of evictions."""
    pods = (compiled.pod for compiled in view.pods.compiled)
    marked = (one for one, _ in marked_evictions(pods, view.groups, view.owners, now))
    return replace(view, evictions=moments_of([*marked, *noted_evictions(cluster)]))


def limit_notes(limit: EvictionLimit | None) -> Sequence[str]:
    """What an answer that counts evictions may miss."""
    if limit is None:
        return ()
    text = "Evictions are counted from events and marks in the cluster, not from the memory of its scheduler"
    if limit.window <= EVENTS_KEPT:
        return (f"{text}.",)
    return (
        f"{text}: the API server keeps events for {lasted(EVENTS_KEPT)} by default, and the window of "
        f"evictionLimit is {lasted(limit.window)}.",
    )
