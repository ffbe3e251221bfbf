"""A decision without the names that its reader may not know: of such objects, kind, priority and UID remain.

Names of nodes, priority classes and volumes are shown: they are not in a namespace. What a reader may get is
for others to find out.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from reprieve.model.effects import Target
from reprieve.placement.rejection_codes import Code, Reason
from reprieve.scheduler.reporting.decision import (
    Decision,
    Eviction,
    EvictionReason,
    Finding,
    Miss,
    Preemption,
    ProtectedBy,
    Spared,
    Victim,
)

MayGet = Callable[[str, str], bool]  # a kind, and a namespace
Named = tuple[str, str]

BUDGET = "PodDisruptionBudget"
_NO_NAME = "(name hidden)"
_OF_CLAIMS = frozenset(
    (
        Code.CLAIM_NOT_FOUND,
        Code.CLAIM_LOST,
        Code.CLAIM_DELETED,
        Code.CLAIM_UNBOUND,
        Code.CLAIM_OF_ANOTHER,
        Code.NO_VOLUME_TO_BIND,
        Code.STORAGE_CAPACITY,
        Code.CLAIM_IN_USE,
    )
)


def may_get_all(kind: str, namespace: str) -> bool:
    return True


def named_in(decision: Decision) -> frozenset[Named]:
    """The kinds and namespaces of all objects that a decision names."""
    return frozenset(_named(decision))


def _named(decision: Decision) -> Iterator[Named]:
    yield decision.demand.kind, decision.demand.namespace
    yield "Pod", decision.demand.namespace  # a group's pods are named in its refusal
    yield from ((pod.kind, pod.namespace) for pod, _ in decision.places)
    protected = decision.eviction.protected if decision.eviction is not None else ()
    yield from (("Pod", _kind_and_namespace(name)[1]) for one in protected for name in one.by if "/" in name)
    room = decision.preemption or Preemption()
    for victim in room.victims:
        yield "Pod", victim.pod.namespace
        yield _kind_and_namespace(victim.unit)
        yield from ((BUDGET, _namespace(budget)) for budget in victim.budgets)
    yield from (_kind_and_namespace(spared.unit) for spared in room.spared)
    yield from (_kind_and_namespace(unit) for loser in room.losers for unit in loser.units)
    yield from ((BUDGET, _namespace(one.budget)) for one in room.exceeded)


def without_hidden_names(decision: Decision, may_get: MayGet) -> Decision:
    if all(may_get(kind, namespace) for kind, namespace in named_in(decision)):
        return decision
    shows_demand = _shows_demand(decision.demand, may_get)
    shown = replace(
        decision,
        demand=_target(decision.demand, may_get),
        places=tuple((_target(pod, may_get), node) for pod, node in decision.places),
        preemption=_preemption(decision.preemption, may_get, shows_demand=shows_demand),
        eviction=_without_protectors(decision.eviction, may_get),
    )
    # What follows names the demand, its pods and their claims, which are all in one namespace.
    if shows_demand:
        return shown
    return replace(
        shown,
        findings=tuple(map(_finding, decision.findings)),
        miss=_miss(decision.miss),
        eviction=_eviction(shown.eviction),
        growth=replace(decision.growth, beside=()) if decision.growth is not None else None,
    )


def _shows_demand(demand: Target, may_get: MayGet) -> bool:
    """Whether pods and claims may be shown with it: a reader of groups need not be one of pods."""
    return may_get(demand.kind, demand.namespace) and may_get("Pod", demand.namespace)


def _target(target: Target, may_get: MayGet) -> Target:
    return target if may_get(target.kind, target.namespace) else Target(target.kind, "", "", target.uid)


def _preemption(room: Preemption | None, may_get: MayGet, *, shows_demand: bool) -> Preemption | None:
    if room is None:
        return None
    return replace(
        room,
        victims=tuple(_victim(victim, may_get, shows_demand=shows_demand) for victim in room.victims),
        spared=tuple(_spared(spared, may_get) for spared in room.spared),
        exceeded=tuple(replace(one, budget=_budget(one.budget, may_get)) for one in room.exceeded),
        losers=tuple(
            replace(loser, units=tuple(_unit(unit, may_get) for unit in loser.units)) for loser in room.losers
        ),
    )


def _victim(victim: Victim, may_get: MayGet, *, shows_demand: bool) -> Victim:
    unit, because = _unit(victim.unit, may_get), victim.because
    if unit != victim.unit and because.code == "GoesWithItsGroup":
        because = EvictionReason(because.code, "its group is evicted whole or not at all")
    if not shows_demand:
        because = _about_claim(because)
    budgets = tuple(_budget(budget, may_get) for budget in victim.budgets)
    pod = _target(victim.pod, may_get)
    controller = victim.controller if pod.name else ""
    return replace(victim, pod=pod, unit=unit, budgets=budgets, because=because, controller=controller)


def _spared(spared: Spared, may_get: MayGet) -> Spared:
    because, namespace = spared.because, _kind_and_namespace(spared.unit)[1]
    if because.code == "SparedForBudget" and not may_get(BUDGET, namespace):
        text = "evicting it would exceed a PodDisruptionBudget, and there is room beside it"
        because = EvictionReason(because.code, text)
    return replace(spared, unit=_unit(spared.unit, may_get), because=because)


def _unit(unit: str, may_get: MayGet) -> str:
    kind, namespace = _kind_and_namespace(unit)
    return unit if may_get(kind, namespace) else f"{kind}/"


def _budget(budget: str, may_get: MayGet) -> str:
    return budget if may_get(BUDGET, _namespace(budget)) else ""


def _finding(finding: Finding) -> Finding:
    if finding.reason.code not in _OF_CLAIMS:
        return finding
    return replace(finding, reason=Reason(finding.reason.code, _NO_NAME))


def _miss(miss: Miss | None) -> Miss | None:
    if miss is None:
        return None
    return replace(miss, pod=Target("Pod", "", "", miss.pod.uid), because=_about_claim(miss.because))


def _without_protectors(eviction: Eviction | None, may_get: MayGet) -> Eviction | None:
    """A reader that may get the pods of a namespace reads what protects them in it, as their controllers."""
    if eviction is None:
        return None
    return replace(eviction, protected=tuple(_protected(one, may_get) for one in eviction.protected))


def _protected(one: ProtectedBy, may_get: MayGet) -> ProtectedBy:
    by = tuple(_protector(name, may_get) for name in one.by)
    return one if by == one.by else replace(one, by=by, ends="")


def _protector(name: str, may_get: MayGet) -> str:
    kind, namespace = _kind_and_namespace(name)
    return name if "/" not in name or may_get("Pod", namespace) else f"{kind}/"


def _eviction(eviction: Eviction | None) -> Eviction | None:
    """The sentence may repeat the nearest miss, with the name of a pod; an exception may say anything."""
    if eviction is None:
        return None
    text = "the reason names objects that you may not read"
    return replace(
        eviction, because=EvictionReason(eviction.because.code, text), at_best=_miss(eviction.at_best)
    )


def _about_claim(because: EvictionReason) -> EvictionReason:
    if because.code not in _OF_CLAIMS:
        return because
    return EvictionReason(because.code, f"a node {Reason(Code(because.code), _NO_NAME).text}")


def _kind_and_namespace(unit: str) -> Named:
    """Splits ``PodGroup/team-a/train``."""
    kind, _, name = unit.partition("/")
    return kind, _namespace(name)


def _namespace(name: str) -> str:
    return name.partition("/")[0]
