"""A what-if as data: the question, and the answer with a report for each demand.

Records only: what is in them is decided elsewhere.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.resizes import Resize
from reprieve.inquiry.world_changes import WorldChange
from reprieve.model.effects import Target
from reprieve.preemption.plan import Onward, Quality
from reprieve.scheduler.decision import Because, Decision, Exceeded, Miss, Spared, Victim
from reprieve.scheduler.settings import Settings

# --- the question --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """Demands are ``manifests``, pods and groups that wait already (``existing``), ``resizes``, and the pods
    of drained nodes."""

    cluster: DecodedCluster
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
    """``kind``: of the object that was asked about; Node for the pods of a drained node."""

    kind: str
    namespace: str
    name: str
    priority: int = 0
    pods: int = 1


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
    units: tuple[str, ...] = ()  # the most important units that the plan would have evicted
    quality: Quality | None = None  # of the plan, if disturbance was measured


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    resource_version: str = ""
    nodes: int = 0
    pods: int = 0
    taken_at: float = 0.0
    pods_read_in: tuple[str, ...] | None = None  # the namespaces whose pods were read; None: all

    @property
    def is_partial(self) -> bool:
        """Whether pods run that were not read: then room and victims are known in part only."""
        return self.pods_read_in is not None


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """What would become of one demand: an object that was asked about, with all of its pods."""

    demand: DemandSummary
    outcome: WhatIfOutcome
    decisions: tuple[Decision, ...] = ()  # in order; a demand of many pods may need many
    placements: tuple[tuple[Target, str], ...] = ()
    waiting: tuple[Target, ...] = ()  # pods that find no room
    victims: tuple[Victim, ...] = ()
    controllers: tuple[
        tuple[Target, str], ...
    ] = ()  # of the victims that are created again: ReplicaSet/web-1
    spared: tuple[Spared, ...] = ()
    exceeded: tuple[Exceeded, ...] = ()  # disruption budgets that are broken
    nodes: tuple[NodeVerdict, ...] = ()
    decided_by: Because | None = None
    quality: Quality | None = None  # what the plan costs, if the search says so
    onward: Onward | None = None  # where its victims would go; known if ``quality`` is
    miss: Miss | None = None  # the nearest miss of a demand that cannot fit, as things are
    at_best: Miss | None = None  # and if all units were gone that may be evicted
    refusal: Because | None = None  # why preemption does not help it, or why it cannot be decided
    retry_at: float | None = None
    resize: bool = False

    @property
    def breaks_budget(self) -> bool:
        return bool(self.exceeded)


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """With ``problems`` the question cannot be answered and there are no reports; each is one sentence."""

    reports: tuple[WhatIfReport, ...] = ()
    snapshot: SnapshotFacts = field(default=SnapshotFacts())
    policy: str = ""
    notes: tuple[str, ...] = ()  # what was assumed, left out or contradictory; a sentence each
    problems: tuple[str, ...] = ()
