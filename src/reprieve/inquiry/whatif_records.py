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
from reprieve.scheduler.decision import (
    Because,
    Decision,
    DecisionPart,
    Exceeded,
    Miss,
    PlanQuality,
    Preemption,
    Spared,
    Victim,
)
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


class DemandSummary(DecisionPart, frozen=True):
    """``kind``: of the object that was asked about; Node for the pods of a drained node."""

    kind: str
    namespace: str
    name: str
    priority: int = 0
    pods: int = 1


class ExcludedNode(DecisionPart, frozen=True):
    """A node that was not chosen, and for which no plan was compared."""

    name: str
    because: Because


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


class WhatIfReport(DecisionPart, frozen=True):
    """What would become of one demand: an object that was asked about, with all of its pods."""

    demand: DemandSummary
    outcome: WhatIfOutcome
    decisions: tuple[Decision, ...] = ()  # in order; a demand of many pods may need many
    placements: tuple[tuple[Target, str], ...] = ()
    waiting: tuple[Target, ...] = ()  # pods that find no room
    preemption: Preemption | None = None  # of all these decisions, with every victim; None: there is none
    excluded: tuple[ExcludedNode, ...] = ()
    miss: Miss | None = None  # the nearest miss of a demand that cannot fit, as things are
    at_best: Miss | None = None  # and if all units were gone that may be evicted
    refusal: Because | None = None  # why preemption does not help it, or why it cannot be decided
    retry_at: float | None = None
    resize: bool = False

    @property
    def room(self) -> Preemption:
        return self.preemption or Preemption()

    @property
    def victims(self) -> tuple[Victim, ...]:
        return self.room.victims

    @property
    def spared(self) -> tuple[Spared, ...]:
        return self.room.spared

    @property
    def exceeded(self) -> tuple[Exceeded, ...]:
        """Disruption budgets that are broken."""
        return self.room.exceeded

    @property
    def decided_by(self) -> Because | None:
        return self.room.decided_by

    @property
    def quality(self) -> PlanQuality | None:
        """What the plan costs, if that was measured."""
        return self.room.quality

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
