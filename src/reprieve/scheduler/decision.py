"""What was decided, for which demand, against what, and why. Bounded in size, whatever the cluster's size.

Everything that people read is made from these records. Names and sentences only: rows of a snapshot mean
nothing any more when they are read.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Effect, Target
from reprieve.model.formatting import amount, counted, listed
from reprieve.model.nodes import Nodes
from reprieve.placement.effort import Effort
from reprieve.placement.place import Survey, Unplaceable
from reprieve.placement.rejection_codes import Reason
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan
from reprieve.preemption.plan import Onward, Quality

# For reports, which know decisions and no plans.
PlanQuality = Quality
VictimsOnward = Onward

MOST_REASONS = 20
MOST_PLANS = 20
MOST_SPARED = 20
MOST_VICTIMS = 100
MOST_UNITS = 20  # of a plan that lost
MOST_EXAMPLES = 5  # nodes that are named for a reason
MOST_PROTECTED = 20
MOST_BESIDE = 20
_NODES_NAMED = 5  # in a sentence; more are counted


class Outcome(StrEnum):
    PLACED = "Placed"
    UNSCHEDULABLE = "Unschedulable"
    PREEMPTS = "Preempts"
    WAITING = "WaitsForVictims"
    IMPROVING = "ImprovesPlan"  # its first plan is being improved, and nothing is written yet
    FITS = "FitsInPlace"
    ERROR = "Error"  # the scheduler failed; ``eviction`` has the reason


@dataclass(frozen=True, slots=True)
class Because:
    """A code for programs, and the sentence that is made from it for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason, and on how many nodes it was the first."""

    reason: Reason
    nodes: int
    curable: bool
    examples: tuple[str, ...] = ()  # the first of these nodes by name


# --- room that is made ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Victim:
    pod: Target
    node: str
    priority: int  # that of what it goes with, as a victim
    unit: str  # what it goes with; a pod alone is "Pod/…"
    budgets: tuple[str, ...]  # disruption budgets that are exceeded by it and others
    because: Because
    own_priority: int | None = None  # with which it was scheduled, where that is another


@dataclass(frozen=True, slots=True)
class Spared:
    """A unit that could have been evicted, and is not; or that a rule protects where room is needed."""

    unit: str
    pods: int
    priority: int
    because: Because
    own_priority: int | None = None  # with which it was scheduled, where that is another


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A disruption budget that allows fewer evictions than there will be."""

    budget: str
    allowed: int
    going: int


@dataclass(frozen=True, slots=True)
class Loser:
    """A plan that would have done, and what it would have cost."""

    domain: str
    pods: int
    highest: int | None  # priority among its victims
    broken: int
    lost_by: Because
    units: tuple[str, ...] = ()  # the most important that it would have evicted; the rest is only counted
    quality: Quality | None = None  # None: not measured
    unit_count: int = 0  # how many it would have evicted


@dataclass(frozen=True, slots=True)
class Preemption:
    """How room is made: what the best plan costs, and how it won."""

    domain: str = ""  # a node, a topology domain, the cluster; empty if nothing has to be evicted
    ceiling: int | None = None  # no unit above this priority had to be considered
    victims: tuple[Victim, ...] = ()  # the most important first; the rest is only counted
    pods: int = 0  # victims in all
    spared: tuple[Spared, ...] = ()  # units on the nodes in question first; the rest is only counted
    units_spared: int = 0
    exceeded: tuple[Exceeded, ...] = ()
    broken: int = 0  # pods beyond what budgets allow, as the policy counts
    losers: tuple[Loser, ...] = ()  # the best first
    plans: int = 1  # how many were compared
    decided_by: Because | None = None  # what the runner-up lost by
    leaving: int = 0  # pods that leave those nodes anyway
    giving_way: tuple[tuple[str, int], ...] = ()  # nodes, and how many pods have to leave each
    quality: Quality | None = None  # what it costs and how good that is known to be, if the search says so
    onward: Onward | None = None  # where its victims would go; known if ``quality`` is


# --- no room -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Miss:
    """How near it was: the pod that found no node, and what it was short of where that was least."""

    pod: Target
    placed: int  # pods of the demand that had found a node before it
    needed: int  # how many have to
    because: Because
    node: str = ""
    resource: str = ""  # empty if it was not for a lack of room
    short: int = 0  # in the unit of the resource
    nodes: int = 0  # on how many nodes it is the same
    kept: int = 0  # what is reserved there for other demands


@dataclass(frozen=True, slots=True)
class ProtectedBy:
    """Pods that a rule protects, or protects for now."""

    code: str  # of the rule
    by: tuple[str, ...]  # a priority class, or a workload as in Deployment/team-a/web
    pods: int
    which: str  # "of class low": names no object of a namespace
    first: float | None  # when the first of them is not protected; None: never, or it is not known
    ends: str  # what ends then: "a toleration of class low"; empty: its name is hidden


@dataclass(frozen=True, slots=True)
class Eviction:
    """Why nothing is evicted, and how near it would be if all units were gone that may be evicted."""

    because: Because
    at_best: Miss | None = None
    protected: tuple[ProtectedBy, ...] = ()  # by rule; of one rule, the first that ends comes first


# --- the whole -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Growth:
    """What a resize is to add to a pod that runs, on the node where it is."""

    node: str
    resources: tuple[tuple[str, int, int], ...]  # name, what it has, what it wants, in the resource's unit
    # Other members of its gang that grow and were decided in the same go, each counting on the victims of the
    # ones before: the first of them by name, and how many there are.
    beside: tuple[str, ...] = ()
    others: int = 0

    @property
    def text(self) -> str:
        return ", ".join(f"{amount(name, wants)} {name}" for name, _, wants in self.resources)


@dataclass(frozen=True, slots=True)
class Decision:
    id: str
    demand: Target
    priority: int
    at: float
    outcome: Outcome
    considered: int  # how many nodes there were
    pods: int = 1  # how many wait
    places: tuple[tuple[Target, str], ...] = ()  # its pods that have a node now, or wait for one
    findings: tuple[Finding, ...] = ()
    preemption: Preemption | None = None
    miss: Miss | None = None
    eviction: Eviction | None = None
    retry_at: float | None = None  # when more pods may be evicted, without any change
    growth: Growth | None = None  # of a pod that has its node already
    unproved: Because | None = None  # why it may fit all the same, or with fewer victims

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(node for _, node in self.places)

    @property
    def victims(self) -> tuple[str, ...]:
        """The units that are preempted."""
        return tuple(dict.fromkeys(v.unit for v in self.preemption.victims)) if self.preemption else ()

    @property
    def text(self) -> str:
        match self.outcome:
            case Outcome.PLACED:
                return f"{self.demand} goes to {listed(sorted(set(self.nodes)))}"
            case Outcome.PREEMPTS | Outcome.WAITING:
                return self._waiting(self.nodes)
            case Outcome.IMPROVING:
                return improving_text(self)
            case Outcome.UNSCHEDULABLE:
                return unschedulable_text(self)
            case Outcome.ERROR:
                return self.eviction.because.text if self.eviction is not None else "the scheduler failed"
            case Outcome.FITS:
                wants = self.growth.text if self.growth is not None else "what it wants"
                return f"there is room for {wants} on {listed(self.nodes)}: waits for the kubelet"

    def text_on(self, node: str) -> str:
        """For a pod for which room is made on that node: does not name the nodes of others."""
        return self._waiting((node,))

    def _waiting(self, nodes: Sequence[str]) -> str:
        return f"{waiting_text(self, nodes)} (decision {self.id})"


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and what has to be done for it.

    ``improve``: the first plan, to be improved beside the loop before it is carried out.
    ``found``: which nodes were rejected and why, for a demand that did not fit. It refers to the snapshot, so
    it is for those that read it at once and must not be kept.
    """

    decision: Decision
    effects: tuple[Effect, ...]
    found: Unplaceable | None = None
    improve: ImprovePlan | None = None


def decision_id(demand: Target, kind: str, version: int, now: float) -> str:
    """The same demand in the same world at the same moment has the same id, in every process.

    The whole target, for objects that were never stored have no UID; and ``kind``, for a pod may be one
    demand while it waits and another when it grows. The moment, for versions begin anew with every process:
    no other decision may have an id that was reported before a restart.
    """
    named = (kind, demand.kind, demand.namespace, demand.name, demand.uid, version, now)
    return "d-" + blake2b(repr(named).encode(), digest_size=5).hexdigest()


def findings_of(survey: Survey, nodes: Nodes) -> tuple[Finding, ...]:
    """Most frequent first; what goes beyond the bound is rare by then."""
    curable = {r.reason: r.curable for r in survey.rejections}
    refused = {reason: rows for reason, mask in survey.refused().items() if len(rows := np.flatnonzero(mask))}
    first = sorted(refused, key=lambda reason: (-len(refused[reason]), reason))[:MOST_REASONS]
    return tuple(
        Finding(reason, len(refused[reason]), curable[reason], _first_by_name(refused[reason], nodes))
        for reason in first
    )


def _first_by_name(rows: Ints, nodes: Nodes) -> tuple[str, ...]:
    """Names, and not rows, decide."""
    ranks = nodes.rank[rows]
    if len(rows) > MOST_EXAMPLES:
        chosen = np.argpartition(ranks, MOST_EXAMPLES)[:MOST_EXAMPLES]
        rows, ranks = rows[chosen], ranks[chosen]
    return tuple(nodes.names[row] for row in rows[np.argsort(ranks)].tolist())


def unproved_by(effort: Effort) -> Because | None:
    """A search that ends early may have missed a placement."""
    if not effort.fell_short:
        return None
    if effort.unanswered:
        return Because("NoAnswer", "not proved: no solver has answered for the cluster as it is now")
    spent = counted(effort.spent, "placement")
    return Because("EffortSpent", f"not proved: the effort of {spent} was spent")


# --- sentences -----------------------------------------------------------------------------------


def waiting_text(decision: Decision, places: Iterable[str]) -> str:
    """Says how many pods leave which nodes, and no names: readers may not see their namespaces."""
    room = decision.preemption or Preemption()
    parts = [preempting_text(room.giving_way)] if room.giving_way else []
    if room.leaving:
        verb = "terminates" if room.leaving == 1 else "terminate"
        parts.append(f"{counted(room.leaving, 'pod')} {verb} anyway")
    nodes = sorted(set(places))
    where = ", ".join(nodes) if len(nodes) <= _NODES_NAMED else counted(len(nodes), "node")
    return f"waits for room on {where}: {', '.join(parts) or 'no eviction is needed'}"


def improving_text(decision: Decision) -> str:
    """Nothing has happened yet, and all of it may change."""
    room = decision.preemption
    first = (
        f"the first plan evicts {counted(room.pods, 'pod')}" if room is not None else "there is no plan yet"
    )
    return f"a better plan is searched for before any pod is evicted: {first} (decision {decision.id})"


def priority_text(priority: int, own: int | None) -> str:
    """The priority of a victim, and the one with which it was scheduled, where that is another."""
    return str(priority) if own is None else f"{priority} (own {own})"


def preempting_text(nodes: Sequence[tuple[str, int]]) -> str:
    """Of nothing, nothing is said."""
    if len(nodes) > _NODES_NAMED:
        return f"preempting {counted(sum(n for _, n in nodes), 'pod')} on {counted(len(nodes), 'node')}"
    where = ", ".join(f"{counted(n, 'pod')} on {node}" for node, n in nodes)
    return f"preempting {where}" if where else ""


def by_node(nodes: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How often each node is named."""
    return tuple(sorted(Counter(nodes).items()))


def unschedulable_text(decision: Decision) -> str:
    """With the first words of kube-scheduler, for which people and programs look."""
    if not decision.considered:
        return "no nodes available to schedule pods"
    miss, eviction = decision.miss, decision.eviction
    found = ", ".join(finding.reason.said_of(finding.nodes) for finding in decision.findings)
    sentences = [f"0/{decision.considered} nodes are available: {found}"]
    if decision.growth is not None:
        found = ", ".join(f"it {finding.reason.text}" for finding in decision.findings)
        sentences = [f"no room for {decision.growth.text} on {decision.growth.node}{found and ': '}{found}"]
    if miss is not None and decision.pods > 1:
        sentences.insert(0, gang_text(miss))
    if miss is not None and miss.resource:
        sentences.append(f"nearest miss: {miss.because.text}")
    if eviction is not None:
        yet = " yet" if decision.retry_at is not None else ""
        sentences.append(f"preemption cannot help{yet}: {eviction.because.text}")
    if decision.unproved is not None:
        sentences.append(decision.unproved.text)
    return "; ".join(sentences)


def gang_text(miss: Miss) -> str:
    if miss.placed:
        return f"{miss.placed} of the {miss.needed} pods it needs found a node, {miss.pod.name} did not"
    return f"pod {miss.pod.name} found no node"


def short_text(node: str, resource: str, short: int) -> str:
    return f"{node} is short of {resource} by {amount(resource, short)}"
