"""What would the scheduler do if these objects were created, or that pod resized, in this cluster?

The scheduler of production decides, on a cluster in memory where every effect succeeds. Nothing is read or
written, and the time is an argument. This module must not know files, flags or how an answer is shown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from reprieve.cluster.api.codec import Decoded
from reprieve.inquiry.asked_demands import ENDED, AskedDemands
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.inquiry.manifests import Manifest, admitted
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.past_evictions import noted_evictions
from reprieve.inquiry.rehearsal import Rehearsed, rehearse
from reprieve.inquiry.resizes import Resize
from reprieve.inquiry.whatif_outcomes import report_of, victims_by_decision
from reprieve.inquiry.whatif_records import (
    DemandSummary,
    ExcludedNode,
    SnapshotFacts,
    WhatIfAnswer,
    WhatIfOutcome,
    WhatIfQuestion,
    WhatIfReport,
)
from reprieve.inquiry.world_changes import AddNodes, Cordon, Drain, Remove, WorldChange, changed
from reprieve.model.objects import KubernetesObject, Node
from reprieve.model.workloads import PastEviction
from reprieve.scheduler.settings import Settings

__all__ = [
    "AddNodes",
    "Cordon",
    "DecodedCluster",
    "DemandSummary",
    "Drain",
    "ExcludedNode",
    "Manifest",
    "ObjectName",
    "Remove",
    "Resize",
    "SnapshotFacts",
    "WhatIfAnswer",
    "WhatIfOutcome",
    "WhatIfQuestion",
    "WhatIfReport",
    "WorldChange",
    "decoded",
    "whatif",
]


Rehearse = Callable[
    [Settings, Sequence[Decoded[KubernetesObject]], float, tuple[PastEviction, ...]], Rehearsed
]


def whatif(question: WhatIfQuestion, now: float, rehearsed_by: Rehearse = rehearse) -> WhatIfAnswer:
    """``rehearsed_by``: what plays it through; of many questions on one cluster, ``Rehearsals``."""
    cluster = question.cluster
    world = changed(cluster.seen, question.changes)
    created = admitted(question.manifests, cluster, question.namespace, question.priority_class)
    asking = AskedDemands(question, world, created)
    asking.collect(now)
    notes = (*cluster.notes, *world.notes, *created.notes, *asking.notes)
    if problems := (*world.problems, *created.problems, *asking.problems):
        return WhatIfAnswer(notes=notes, problems=problems)
    seen = [*asking.seen()]
    settings = _settings_for(question.settings, asking.scheduler_names(seen))
    evicted = noted_evictions(cluster) if settings.longest_eviction_window else ()
    rehearsed = rehearsed_by(settings, seen, now, evicted)
    failures = tuple(f"The scheduler failed on {failure}." for failure in rehearsed.failures)
    victims = victims_by_decision(rehearsed)
    reports = [report_of(demand, rehearsed, victims) for demand in asking.demands.values()]
    turns = {one.decision.id: turn for turn, one in enumerate(rehearsed.decided)}
    reports.sort(key=lambda report: min((turns[d.id] for d in report.decisions), default=len(turns)))
    return WhatIfAnswer(tuple(reports), _summary(cluster), question.policy, (*notes, *failures))


def _summary(cluster: DecodedCluster) -> SnapshotFacts:
    nodes = sum(isinstance(one.object, Node) for one in cluster.seen)
    pods = sum(bool(pod.spec.node_name) and pod.status.phase not in ENDED for pod in cluster.pods())
    source = cluster.source
    return SnapshotFacts(source.resource_version, nodes, pods, source.taken_at, source.pods_read_in)


def _settings_for(settings: Settings, names: Iterable[str]) -> Settings:
    """A demand keeps its schedulerName: a name without a profile gets the first one, as if it were its."""
    first = next(iter(settings.profiles))
    profiles, policies = dict(settings.profiles), dict(settings.policies)
    for name in names:
        if name not in profiles:
            profiles[name] = settings.profiles[first]
            if first in settings.policies:
                policies[name] = settings.policies[first]
    return replace(settings, profiles=profiles, policies=policies)
