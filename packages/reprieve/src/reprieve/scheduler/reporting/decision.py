"""What was decided, for which demand, against what, and why. Bounded in size, whatever the cluster's size.

Everything that people read is made from these records. Names and sentences only: rows of a snapshot mean
nothing any more when they are read. These records are also what is written (``decision_document``): fields
have the same names in Python and in JSON, in the spelling of each.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from math import isfinite

import msgspec
import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Effect, Target
from reprieve.model.formatting import amount, counted, listed
from reprieve.model.nodes import Nodes
from reprieve.placement.effort import Effort
from reprieve.placement.place import Survey, Unplaceable
from reprieve.placement.rejection_codes import Reason
from reprieve.preemption.criteria import criterion_named
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan
from reprieve.preemption.plan import Quality

Measured = Mapping[str, int | float | None]  # by criterion, the most important first; None: not a number

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


class DecisionPart(msgspec.Struct, frozen=True, rename="camel"):
    """A decision, or a part of one. Readers leave out fields that they do not know."""


class EvictionReason(DecisionPart, frozen=True):
    """A code for programs, and the sentence that is made from it for people."""

    code: str
    text: str


class Finding(DecisionPart, frozen=True):
    """A reason, and on how many nodes it was the first."""

    reason: Reason
    nodes: int
    curable: bool
    examples: tuple[str, ...] = ()  # the first of these nodes by name


# --- room that is made ---------------------------------------------------------------------------


class Victim(DecisionPart, frozen=True):
    pod: Target
    node: str
    priority: int  # that of what it goes with, as a victim
    unit: str  # what it goes with; a pod alone is "Pod/…"
    budgets: tuple[str, ...]  # disruption budgets that are exceeded by it and others
    because: EvictionReason
    own_priority: int | None = None  # with which it was scheduled, where that is another
    controller: str = ""  # ReplicaSet/web-1 creates it again; only a what-if finds that out


class Spared(DecisionPart, frozen=True):
    """A unit that could have been evicted, and is not; or that a rule protects where room is needed."""

    unit: str
    pods: int
    priority: int
    because: EvictionReason
    own_priority: int | None = None  # with which it was scheduled, where that is another


class Exceeded(DecisionPart, frozen=True):
    """A disruption budget that allows fewer evictions than there will be."""

    budget: str
    allowed: int
    going: int


class PlanQuality(DecisionPart, frozen=True):
    """What a plan disturbs by each criterion, and how good that is known to be."""

    cost: Measured  # of the victims that are not in flight already
    bound: Measured = {}  # of the first criteria: no plan is below these
    proved: bool = False  # no plan disturbs less
    effort: int = 0  # work units that were spent on it
    saved: Measured = {}  # how much more the plan of PriorityCeiling would disturb

    @property
    def gap(self) -> tuple[str, int | float | None] | None:
        """The first criterion that is not known to be at its least, and how far it may be from that.

        None if there is none, or if no bound is known for it.
        """
        for name, value in self.cost.items():
            if name not in self.bound:
                return None
            least = self.bound[name]
            if value != least:
                return name, None if value is None or least is None else value - least
        return None

    @property
    def proved_through(self) -> str:
        """The last of the first criteria by which no plan is better; empty if that is known of none."""
        at_least = ""
        for name, value in self.cost.items():
            if not self.proved and (name not in self.bound or self.bound[name] != value):
                break
            at_least = name
        return at_least


class VictimsOnward(DecisionPart, frozen=True):
    """Where the victims of a plan would go if all were created again: a number of pods for each."""

    fit: int = 0  # in room that is free
    preempt: int = 0  # only where pods of lower priority run
    nowhere: int = 0


class Loser(DecisionPart, frozen=True):
    """A plan that would have done, and what it would have cost."""

    domain: str
    pods: int
    highest: int | None  # priority among its victims
    broken: int
    lost_by: EvictionReason
    units: tuple[str, ...] = ()  # the most important that it would have evicted; the rest is only counted
    quality: PlanQuality | None = None  # None: not measured
    unit_count: int = 0  # how many it would have evicted


class Preemption(DecisionPart, frozen=True):
    """How room is made: what the best plan costs, and how it won."""

    domain: str = ""  # a node, a topology domain, the cluster; empty if nothing has to be evicted
    ceiling: int | None = None  # no unit above this priority had to be considered
    victims: tuple[Victim, ...] = ()  # the most important first; the rest is only counted
    pods: int = 0  # victims in all
    spared: tuple[Spared, ...] = ()  # units on the nodes in question first; the rest is only counted
    units_spared: int = 0
    pods_spared: int = 0  # in all of these units
    exceeded: tuple[Exceeded, ...] = ()
    broken: int = 0  # pods beyond what budgets allow, as the policy counts
    losers: tuple[Loser, ...] = ()  # the best first
    plans: int = 1  # how many were compared
    exhaustive: bool = False  # there is no placement that was not compared
    decided_by: EvictionReason | None = None  # what the runner-up lost by
    leaving: int = 0  # pods that leave those nodes anyway
    in_flight: int = 0  # victims that are being evicted already
    victim_nodes: Mapping[str, int] = {}  # how many pods have to leave each, by name
    quality: PlanQuality | None = None  # what it costs and how good that is known to be, if it was measured
    onward: VictimsOnward | None = None  # known if ``quality`` is

    @property
    def compared_text(self) -> str:
        """Among how many plans it was chosen. Only an exhaustive search may say that there is no other."""
        if self.plans > 1:
            by = f" by: {self.decided_by.text}" if self.decided_by is not None else ""
            return f"the best of {self.plans} placements{by}"
        return "no other placement is possible" if self.exhaustive else "no other placement was compared"

    @property
    def choice_text(self) -> str:
        """How it was chosen, in the same words in every view."""
        proof = proof_text(self.quality) if self.quality is not None else ""
        if proof and self.plans == 1 and not self.exhaustive:
            return proof
        return "; ".join(filter(None, (self.compared_text, proof)))

    @property
    def spared_text(self) -> str:
        """Older versions did not count pods."""
        units = counted(self.units_spared, "unit")
        is_counted = self.pods_spared >= self.units_spared
        return f"{units} ({counted(self.pods_spared, 'pod')})" if is_counted else units


# --- no room -------------------------------------------------------------------------------------


class Miss(DecisionPart, frozen=True):
    """How near it was: the pod that found no node, and what it was short of where that was least."""

    pod: Target
    placed: int  # pods of the demand that had found a node before it
    needed: int  # how many have to
    because: EvictionReason
    node: str = ""
    resource: str = ""  # empty if it was not for a lack of room
    short: int = 0  # in the unit of the resource
    nodes: int = 0  # on how many nodes it is the same
    kept: int = 0  # what is reserved there for other demands


class ProtectedBy(DecisionPart, frozen=True):
    """Pods that a rule protects, or protects for now."""

    code: str  # of the rule
    by: tuple[str, ...]  # a priority class, or a workload as in Deployment/team-a/web
    pods: int
    which: str  # "of class low": names no object of a namespace
    first: float | None  # when the first of them is not protected; None: never, or it is not known
    ends: str  # what ends then: "a toleration of class low"; empty: its name is hidden


class Eviction(DecisionPart, frozen=True):
    """Why nothing is evicted, and how near it would be if all units were gone that may be evicted."""

    because: EvictionReason
    at_best: Miss | None = None
    protected: tuple[ProtectedBy, ...] = ()  # by rule; of one rule, the first that ends comes first


# --- the whole -----------------------------------------------------------------------------------


class Grown(DecisionPart, frozen=True):
    """An amount of a resource, in its unit."""

    has: int
    wants: int


class Growth(DecisionPart, frozen=True):
    """What a resize is to add to a pod that runs, on the node where it is."""

    node: str
    resources: Mapping[str, Grown]
    # Other members of its gang that grow and were decided in the same go, each counting on the victims of the
    # ones before: the first of them by name, and how many there are.
    beside: tuple[str, ...] = ()
    others: int = 0

    @property
    def text(self) -> str:
        wanted = (f"{amount(name, one.wants)} {name}" for name, one in self.resources.items())
        return ", ".join(wanted) or "what it has already"  # its condition has outlived its request


class Decision(DecisionPart, frozen=True):
    id: str
    demand: Target
    priority: int
    at: float
    outcome: Outcome
    considered: int  # how many nodes there were
    pods: int = 1  # how many wait
    # Its pods that have a node now, or wait for one.
    places: tuple[tuple[Target, str], ...] = msgspec.field(default=(), name="placements")
    findings: tuple[Finding, ...] = ()
    preemption: Preemption | None = None
    miss: Miss | None = None
    eviction: Eviction | None = None
    retry_at: float | None = None  # when more pods may be evicted, without any change
    growth: Growth | None = None  # of a pod that has its node already
    unproved: EvictionReason | None = None  # why it may fit all the same, or with fewer victims

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
    effects: tuple[Effect, ...] = ()
    found: Unplaceable | None = None
    improve: ImprovePlan | None = None


def decision_id(demand: Target, kind: str, version: int, now: float) -> str:
    """An id for a decision: one demand in one world at one moment has the same in every process.

    The whole target, for objects that were never stored have no UID; and ``kind``, for a pod may be one
    demand while it waits and another when it grows. The moment, for versions begin anew with every process:
    no other decision may have an id that was reported before a restart.
    """
    named = (kind, demand.kind, demand.namespace, demand.name, demand.uid, version, now)
    return "d-" + blake2b(repr(named).encode(), digest_size=5).hexdigest()


def findings_of(survey: Survey, nodes: Nodes, chosen: Iterable[int] = ()) -> tuple[Finding, ...]:
    """Most frequent first; what goes beyond the bound is rare by then.

    ``chosen``: nodes (rows) that a plan uses. They were refused as things are, and are not in the end.
    """
    curable = {r.reason: r.curable for r in survey.rejections}
    counted_nodes = np.ones(len(nodes), np.bool_)
    counted_nodes[[*chosen]] = False
    masks = ((reason, mask & counted_nodes) for reason, mask in survey.refused().items())
    refused = {reason: rows for reason, mask in masks if len(rows := np.flatnonzero(mask))}
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


def unproved_by(effort: Effort) -> EvictionReason | None:
    """A search that ends early may have missed a placement."""
    if not effort.fell_short:
        return None
    if effort.unanswered:
        return EvictionReason("NoAnswer", "not proved: no solver has answered for the cluster as it is now")
    spent = counted(effort.spent, "placement")
    return EvictionReason("EffortSpent", f"not proved: the effort of {spent} was spent")


def json_numbers(values: Iterable[tuple[str, float]]) -> dict[str, int | float | None]:
    """Without victims there is no highest priority, for example: JSON has null for what is not a number."""
    return {
        str(name): None if not isfinite(value) else int(value) if value == int(value) else value
        for name, value in values
    }


def quality_of(quality: Quality) -> PlanQuality:
    return PlanQuality(
        json_numbers(quality.cost),
        json_numbers(quality.bound),
        quality.proved,
        quality.effort,
        json_numbers(quality.saved),
    )


# --- sentences -----------------------------------------------------------------------------------


def proof_text(quality: PlanQuality) -> str:
    """What is proved of a plan; empty if nothing is."""
    if quality.proved:
        return "proved: no plan disturbs less"
    last = quality.proved_through
    if not last:
        return ""
    criterion = criterion_named(last)
    better = criterion.better if criterion is not None else f"is better by {last}"
    is_first = last == next(iter(quality.cost))
    alike = "" if is_first else " that is as good by the criteria before"
    return f"proved through {last}: no plan{alike} {better}"


def has_plain_number(name: str) -> bool:
    """Whether people can make sense of what a plan costs by this criterion."""
    criterion = criterion_named(name)
    return criterion is None or criterion.has_plain_number


def waiting_text(decision: Decision, places: Iterable[str]) -> str:
    """Says how many pods leave which nodes, and no names: readers may not see their namespaces."""
    room = decision.preemption or Preemption()
    parts = [preempting_text(room.victim_nodes)] if room.victim_nodes else []
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


def preempting_text(nodes: Mapping[str, int]) -> str:
    """How many pods are preempted where; empty if none is."""
    if len(nodes) > _NODES_NAMED:
        return f"preempting {counted(sum(nodes.values()), 'pod')} on {counted(len(nodes), 'node')}"
    where = ", ".join(f"{counted(n, 'pod')} on {node}" for node, n in nodes.items())
    return f"preempting {where}" if where else ""


def by_node(nodes: Iterable[str]) -> dict[str, int]:
    """How often each node is named."""
    return dict(sorted(Counter(nodes).items()))


def unschedulable_text(decision: Decision, *, reported: bool = False) -> str:
    """With the first words of kube-scheduler, for which people and programs look.

    ``reported``: without what changes from one moment to the next, for a text that stays for a while.
    """
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
    if miss is not None and miss.resource and not reported:
        sentences.append(f"nearest miss: {miss.because.text}")
    if eviction is not None:
        yet = " yet" if decision.retry_at is not None else ""
        text = eviction.because.text
        if reported and eviction.at_best is not None:
            name, gone = eviction.at_best.pod.name, "after evicting all pods of lower priority"
            text = f"even {gone}, pod {name} would not fit" if decision.pods > 1 else NO_HELP
        sentences.append(f"preemption cannot help{yet}: {text}")
    if decision.unproved is not None:
        sentences.append(decision.unproved.text)
    return "; ".join(sentences)


NO_HELP = "no node would do even if all pods of lower priority were evicted"


def gang_text(miss: Miss) -> str:
    if miss.placed:
        return f"{miss.placed} of the {miss.needed} pods it needs found a node, {miss.pod.name} did not"
    return f"pod {miss.pod.name} found no node"


def short_text(node: str, resource: str, short: int) -> str:
    return f"{node} is short of {resource} by {amount(resource, short)}"
