"""What was decided, for whom, against what, and why. Bounded in size, whatever the cluster's size."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from reprieve.model.effects import Effect, Target
from reprieve.placement.place import Survey
from reprieve.placement.reasons import Reason

_MOST_REASONS = 20


class Outcome(StrEnum):
    PLACED = "Placed"
    UNSCHEDULABLE = "Unschedulable"
    PREEMPTS = "Preempts"
    WAITING = "WaitsForVictims"


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason, and on how many nodes it was the first."""

    reason: Reason
    nodes: int
    curable: bool


@dataclass(frozen=True, slots=True)
class Decision:
    id: str
    demand: Target
    priority: int
    at: float
    outcome: Outcome
    nodes: tuple[str, ...]  # where its pods go, in the order of the demand
    considered: int  # how many nodes there were
    findings: tuple[Finding, ...] = ()
    victims: tuple[str, ...] = ()  # units that give way

    @property
    def text(self) -> str:
        if self.outcome is Outcome.PLACED:
            return f"{self.demand} goes to {', '.join(self.nodes)}"
        if self.outcome is Outcome.PREEMPTS:
            return f"{self.demand} waits for room on {', '.join(self.nodes)} (decision {self.id})"
        return unschedulable_text(self.findings, self.considered)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and what has to be done for it."""

    decision: Decision
    effects: tuple[Effect, ...]


def decision_id(demand_uid: str, version: int) -> str:
    """The same demand in the same world has the same id, in every process."""
    return "d-" + blake2b(f"{demand_uid}/{version}".encode(), digest_size=5).hexdigest()


def findings_of(survey: Survey) -> tuple[Finding, ...]:
    """Most frequent first; what goes beyond the bound is rare by then."""
    curable = {r.reason: r.curable for r in survey.rejections}
    counted = [Finding(reason, nodes, curable[reason]) for reason, nodes in survey.reasons().items()]
    return tuple(sorted(counted, key=lambda f: (-f.nodes, f.reason))[:_MOST_REASONS])


def unschedulable_text(findings: Sequence[Finding], considered: int) -> str:
    if not considered:
        return "there are no nodes in the cluster"
    reasons = ", ".join(f"{_nodes(f.nodes)} {f.reason.text}" for f in findings)
    return f"none of {_nodes(considered)} will do: {reasons}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
