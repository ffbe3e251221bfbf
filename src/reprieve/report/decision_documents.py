"""Decisions from the documents that ``report.decisions`` writes: from a server, a snapshot or a file.

What a document lacks has its default, so that documents of older versions can be read. Amounts were rounded
when the document was written.
"""

from datetime import datetime
from math import inf

import msgspec

from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.resources import milli, rounded
from reprieve.placement.rejection_codes import reason_of
from reprieve.report.decisions import OUTCOMES
from reprieve.scheduler.decision import (
    Because,
    Decision,
    Eviction,
    Exceeded,
    Finding,
    Growth,
    Loser,
    Miss,
    Outcome,
    PlanQuality,
    Preemption,
    ProtectedBy,
    Spared,
    Victim,
    VictimsOnward,
)


class UnreadableDecisionError(ValueError):
    """What is wrong with a document, as a sentence."""


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    pass


class _Because(_Document, frozen=True):
    code: str = ""
    text: str = ""


class _Demand(_Document, frozen=True):
    kind: str = "Pod"
    namespace: str | None = None
    name: str | None = None
    uid: str = ""
    priority: int = 0
    pods: int = 1


class _Resource(_Document, frozen=True):
    has: str = "0"
    wants: str = "0"


class _Growth(_Document, frozen=True):
    node: str = ""
    resources: dict[str, _Resource] = {}
    beside: tuple[str, ...] = ()
    others: int = 0


class _Victim(_Document, frozen=True):
    uid: str = ""
    namespace: str | None = None
    name: str | None = None
    node: str = ""
    priority: int = 0
    scheduling_priority: int | None = None
    unit: str = "Pod"
    breaks_budget: str | None = None
    because: _Because = _Because()


class _Budget(_Document, frozen=True):
    name: str | None = None
    disruptions_allowed: int = 0
    evictions: int = 0


class _Spared(_Document, frozen=True):
    unit: str = "Pod"
    pods: int = 1
    priority: int = 0
    scheduling_priority: int | None = None
    because: _Because = _Because()


class _Plan(_Document, frozen=True):
    victims: int = 0
    highest_priority: int | None = None
    beyond_budgets: int = 0
    units: tuple[str, ...] = ()
    unit_count: int = 0
    cost: dict[str, int | None] | None = None
    bound: dict[str, int | None] = {}
    proved: bool = False


class _Onward(_Document, frozen=True):
    fit: int = 0
    preempt: int = 0
    nowhere: int = 0


class _Node(_Document, frozen=True):
    name: str = ""
    plan: _Plan = _Plan()
    lost_by: _Because = _Because()


class _Refused(_Document, frozen=True):
    nodes: int = 0
    excluded_by: _Because = _Because()
    eviction_may_help: bool = False
    examples: tuple[str, ...] = ()


class _Miss(_Document, frozen=True):
    pod: str = ""
    placed_before: int = 0
    needed: int = 1
    node: str | None = None
    resource: str | None = None
    short: str | None = None
    nodes: int = 0
    kept: str | None = None
    because: _Because = _Because()


class _ProtectedBy(_Document, frozen=True):
    code: str = ""
    by: tuple[str, ...] = ()
    pods: int = 0
    which: str = ""
    first_at: str | None = None
    ends: str = ""


class _Eviction(_Document, frozen=True):
    because: _Because = _Because()
    nearest_miss: _Miss | None = None
    protected: tuple[_ProtectedBy, ...] = ()


class _Decision(_Document, frozen=True):
    id: str
    at: str
    outcome: str
    demand: _Demand
    growth: _Growth | None = None
    placements: dict[str, str] = {}
    domain: str | None = None
    ceiling: int | None = None
    victims: tuple[_Victim, ...] = ()
    victim_pods: int = 0
    victim_nodes: dict[str, int] = {}
    leaving_pods: int = 0
    budgets: tuple[_Budget, ...] = ()
    spared: tuple[_Spared, ...] = ()
    spared_units: int = 0
    nodes: tuple[_Node, ...] = ()
    plans: int = 0
    beyond_budgets: int = 0
    decided_by: _Because | None = None
    considered: int = 0
    refused: tuple[_Refused, ...] = ()
    nearest_miss: _Miss | None = None
    eviction: _Eviction | None = None
    retry_at: str | None = None
    unproved: _Because | None = None
    cost: dict[str, int | None] | None = None
    bound: dict[str, int | None] | None = None
    proved: bool | None = None
    effort: int | None = None
    saved: dict[str, int | None] | None = None
    cascade: _Onward | None = None


_BY_NAME: dict[str, Outcome] = {name: outcome for outcome, name in OUTCOMES.items()}


def decision_of(document: Json) -> Decision:
    """Raises UnreadableDecisionError."""
    try:
        found = msgspec.convert(document, _Decision)
        return _decision(found)
    except msgspec.ValidationError as error:
        raise UnreadableDecisionError(f"is not a Decision: {error}") from error
    except (KeyError, ValueError) as error:
        raise UnreadableDecisionError(f"is not a Decision that this version can read: {error}") from error


def _decision(found: _Decision) -> Decision:
    demand = found.demand
    target = Target(demand.kind, demand.namespace or "", demand.name or "", demand.uid)
    return Decision(
        id=found.id,
        demand=target,
        priority=demand.priority,
        at=_moment(found.at),
        outcome=_BY_NAME[found.outcome],
        considered=found.considered,
        pods=demand.pods,
        places=tuple((_pod(key), node) for key, node in found.placements.items()),
        findings=tuple(_finding(refused) for refused in found.refused),
        preemption=_preemption(found) if found.domain or found.victims or found.leaving_pods else None,
        miss=_miss(found.nearest_miss),
        eviction=_eviction(found.eviction),
        retry_at=_moment(found.retry_at) if found.retry_at is not None else None,
        growth=_growth(found.growth),
        unproved=_because(found.unproved) if found.unproved is not None else None,
    )


def _preemption(found: _Decision) -> Preemption:
    return Preemption(
        domain=found.domain or "",
        ceiling=found.ceiling,
        victims=tuple(map(_victim, found.victims)),
        pods=found.victim_pods,
        spared=tuple(map(_spared, found.spared)),
        units_spared=found.spared_units,
        exceeded=tuple(Exceeded(b.name or "", b.disruptions_allowed, b.evictions) for b in found.budgets),
        broken=found.beyond_budgets,
        losers=tuple(_loser(node) for node in found.nodes),
        plans=found.plans or 1,
        decided_by=_because(found.decided_by) if found.decided_by is not None else None,
        leaving=found.leaving_pods,
        giving_way=tuple(sorted(found.victim_nodes.items())),
        quality=_quality(found),
        onward=_onward(found.cascade),
    )


def _quality(found: _Decision) -> PlanQuality | None:
    if found.cost is None:
        return None
    cost, saved = _values(found.cost), dict(_values(found.saved or {}))
    return PlanQuality(
        cost,
        _values(found.bound or {}),
        proved=bool(found.proved),
        effort=found.effort or 0,
        ceiling_cost=tuple((name, value + saved.get(name, 0)) for name, value in cost) if saved else (),
    )


def _values(found: dict[str, int | None]) -> tuple[tuple[str, float], ...]:
    """Without victims, there is no highest priority."""
    return tuple((name, -inf if value is None else value) for name, value in found.items())


def _onward(found: _Onward | None) -> VictimsOnward | None:
    return VictimsOnward(found.fit, found.preempt, found.nowhere) if found is not None else None


def _victim(found: _Victim) -> Victim:
    pod = Target("Pod", found.namespace or "", found.name or "", found.uid)
    unit = f"Pod/{pod.namespace}/{pod.name}" if found.unit == "Pod" and pod.name else _unit(found.unit)
    budgets = (found.breaks_budget,) if found.breaks_budget is not None else ()
    because, own = _because(found.because), found.scheduling_priority
    return Victim(pod, found.node, found.priority, unit, budgets, because, own)


def _spared(found: _Spared) -> Spared:
    because, own = _because(found.because), found.scheduling_priority
    return Spared(_unit(found.unit), found.pods, found.priority, because, own)


def _unit(unit: str) -> str:
    """A unit whose name is left out is its kind and a slash."""
    return unit if "/" in unit else f"{unit}/"


def _loser(node: _Node) -> Loser:
    plan = node.plan
    quality = None
    if plan.cost is not None:
        quality = PlanQuality(_values(plan.cost), _values(plan.bound), proved=plan.proved, effort=0)
    cost = plan.victims, plan.highest_priority, plan.beyond_budgets
    return Loser(node.name, *cost, _because(node.lost_by), plan.units, quality, plan.unit_count)


def _finding(found: _Refused) -> Finding:
    reason = reason_of(found.excluded_by.code, found.excluded_by.text)
    return Finding(reason, found.nodes, found.eviction_may_help, found.examples)


def _miss(found: _Miss | None) -> Miss | None:
    if found is None:
        return None
    resource = found.resource or ""
    return Miss(
        _pod(found.pod),
        found.placed_before,
        found.needed,
        _because(found.because),
        found.node or "",
        resource,
        _amount(resource, found.short),
        found.nodes,
        _amount(resource, found.kept),
    )


def _eviction(found: _Eviction | None) -> Eviction | None:
    if found is None:
        return None
    protected = tuple(map(_protected_by, found.protected))
    return Eviction(_because(found.because), _miss(found.nearest_miss), protected)


def _protected_by(one: _ProtectedBy) -> ProtectedBy:
    first = _moment(one.first_at) if one.first_at is not None else None
    return ProtectedBy(one.code, one.by, one.pods, one.which, first, one.ends)


def _growth(found: _Growth | None) -> Growth | None:
    if found is None:
        return None
    resources = tuple(
        (name, _amount(name, one.has), _amount(name, one.wants)) for name, one in found.resources.items()
    )
    return Growth(found.node, resources, found.beside, found.others)


def _amount(resource: str, text: str | None) -> int:
    thousandths = milli(text) if text is not None else None
    return rounded(resource, thousandths) if thousandths is not None else 0


def _pod(key: str) -> Target:
    """A key without a slash is a UID: the name was left out."""
    namespace, slash, name = key.partition("/")
    return Target("Pod", namespace, name, "") if slash else Target("Pod", "", "", key)


def _because(found: _Because) -> Because:
    return Because(found.code, found.text)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
