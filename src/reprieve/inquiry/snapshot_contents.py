"""What is in a cluster that was read: how many objects of each kind, from when, and what is missing?"""

from collections import Counter
from dataclasses import dataclass

from reprieve.cluster.api.timestamps import stamp
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.model.json import Json
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, table

API_VERSION = "reprieve.dev/v1alpha1"


@dataclass(frozen=True, slots=True)
class SnapshotContents:
    """``schedulers``: the scheduler names of the configuration; empty if it has none."""

    taken_at: float
    resource_version: str
    kinds: tuple[tuple[str, int], ...]  # the most frequent first
    schedulers: tuple[str, ...]
    decisions: int
    notes: tuple[str, ...]


def contents_of(cluster: ClusterObjects) -> SnapshotContents:
    counts = Counter(thing.kind for thing in cluster.objects)
    return SnapshotContents(
        taken_at=cluster.taken_at,
        resource_version=cluster.resource_version,
        kinds=tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        schedulers=tuple(_schedulers(cluster.configuration or {})),
        decisions=len(cluster.decisions),
        notes=cluster.notes,
    )


def _schedulers(configuration: Json) -> list[str]:
    profiles = configuration.get("profiles")
    return [
        str(profile.get("schedulerName", "default-scheduler"))
        for profile in (profiles if isinstance(profiles, list) else ())
        if isinstance(profile, dict)
    ]


def contents_lines(contents: SnapshotContents) -> list[TextLine]:
    version = f", resource version {contents.resource_version}" if contents.resource_version else ""
    rows = [(kind, str(number)) for kind, number in contents.kinds]
    decisions = [("Decision", str(contents.decisions))] if contents.decisions else []
    configured = (
        [BLANK, TextLine(f"It has the configuration of the scheduler of {', '.join(contents.schedulers)}.")]
        if contents.schedulers
        else []
    )
    notes = [BLANK, *(TextLine(f"Note: {note}.") for note in contents.notes)] if contents.notes else []
    return [
        TextLine(f"Taken at {stamp(contents.taken_at)}{version}.", LineStyle.HEADING),
        BLANK,
        *table(("KIND", "OBJECTS"), [*rows, *decisions], numbers=(1,)),
        *configured,
        *notes,
    ]


def contents_document(contents: SnapshotContents) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "SnapshotContents",
        "takenAt": stamp(contents.taken_at),
        "resourceVersion": contents.resource_version,
        "objects": dict(contents.kinds),
        "schedulers": list(contents.schedulers),
        "decisions": contents.decisions,
        "notes": list(contents.notes),
    }
