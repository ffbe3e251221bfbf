"""What would the scheduler do if these objects were created, or that pod resized, in this cluster?

The scheduler of production decides, on a cluster in memory where every effect succeeds at once. Nothing is read
or written, and the time is an argument. This module must not know files, flags or how an answer is shown.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.scheduler.decision import (
    Because,
    Decision,
    Exceeded,
    Miss,
    Spared,
    Victim,
)
from reprieve.scheduler.settings import Settings


# --- the question --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as a client would send it. ``where``: "new.yaml, document 2", for problems."""

    body: Json
    where: str = ""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A pod or a PodGroup that exists: ``kind`` is Pod or PodGroup, or empty for whichever of them exists."""

    namespace: str
    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Resize:
    """A running pod, and what one of its containers is to request, as in {"cpu": "4", "memory": "8Gi"}."""

    pod: ObjectName
    requests: tuple[tuple[str, str], ...]
    container: str = ""  # empty: the only one


@dataclass(frozen=True, slots=True)
class Cordon:
    node: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordoned, and its pods are evicted; those that a controller owns are created again and need room."""

    node: str


@dataclass(frozen=True, slots=True)
class AddNodes:
    template: Json
    count: int = 1


@dataclass(frozen=True, slots=True)
class Remove:
    """A pod, or all pods of a PodGroup, are gone."""

    object: ObjectName


WorldChange = Cordon | Drain | AddNodes | Remove


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """Demands are ``manifests``, pods and groups that wait already (``existing``), and ``resizes``."""

    cluster: ClusterObjects
    settings: Settings
    policy: str = "Reprieve"  # the name that reports give to the settings
    manifests: tuple[Manifest, ...] = ()
    existing: tuple[ObjectName, ...] = ()
    resizes: tuple[Resize, ...] = ()
    changes: tuple[WorldChange, ...] = ()
    priority_class: str = ""  # which the demands get instead of their own
    with_pending: bool = False  # whether pods of the cluster that wait are decided, too
    namespace: str = "default"  # of manifests that name none


# --- the answer ----------------------------------------------------------------------------------


class WhatIfOutcome(StrEnum):
    FITS = "Fits"
    PREEMPTS = "Preempts"
    UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class DemandSummary:
    kind: str
    namespace: str
    name: str
    priority: int
    pods: int


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A node, or another domain, that was not chosen: excluded, or with a plan that lost.

    ``pods``, ``highest``, ``broken``: victims of the plan, the highest priority among them, and how many are
    beyond budgets.
    """

    name: str
    excluded_by: Because | None = None
    lost_by: Because | None = None
    pods: int = 0
    highest: int | None = None
    broken: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotSummary:
    resource_version: str
    nodes: int
    pods: int
    taken_at: float


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """What would become of one demand: an object that was asked about, with all of its pods."""

    demand: DemandSummary
    outcome: WhatIfOutcome
    decisions: tuple[Decision, ...]  # in order; a demand of many pods may need many
    placements: tuple[tuple[Target, str], ...] = ()
    waiting: tuple[Target, ...] = ()  # pods that find no room
    victims: tuple[Victim, ...] = ()
    spared: tuple[Spared, ...] = ()
    exceeded: tuple[Exceeded, ...] = ()  # disruption budgets that are broken
    nodes: tuple[NodeVerdict, ...] = ()
    decided_by: Because | None = None
    miss: Miss | None = None  # the nearest miss of a demand that cannot fit
    refusal: Because | None = None  # why preemption does not help it
    retry_at: float | None = None

    @property
    def breaks_budget(self) -> bool:
        return bool(self.exceeded)


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """With ``problems`` the question cannot be answered and there are no reports; each is one sentence."""

    reports: tuple[WhatIfReport, ...] = ()
    snapshot: SnapshotSummary = field(default=SnapshotSummary("", 0, 0, 0.0))
    policy: str = ""
    notes: tuple[str, ...] = ()  # what was assumed, left out or contradictory; a sentence each
    problems: tuple[str, ...] = ()


def whatif(question: WhatIfQuestion, now: float) -> WhatIfAnswer:
    raise NotImplementedError
