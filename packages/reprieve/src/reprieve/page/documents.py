"""How are a picture, its changes and its decisions written as JSON for a browser?

Names that a reader may not know are left out here, so that nothing that is sent has to be hidden later. Which
names those are is for others to find out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from reprieve.inquiry.decision_list import kept_document, nodes_of
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.resources import MEMORY
from reprieve.page.picture import GroupGone, NodeGone, Picture, PictureChange, PodGone
from reprieve.page.rows import GroupRow, NodeRow, PodRow, name_key, namespace_of_key
from reprieve.report.decisions import decision_lines, shown_bound, shown_cost
from reprieve.report.hidden_names import MayGet, Named, may_get_all, named_in, without_hidden_names
from reprieve.runtime.recent_decisions import KeptDecision, PlanCourse
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.reporting.decision import Decision, Outcome, Preemption

_MIB = 1 << 20
_OUTCOMES = {
    Outcome.PLACED: "placed",
    Outcome.PREEMPTS: "preempting",
    Outcome.WAITING: "waiting",
    Outcome.IMPROVING: "improving",
    Outcome.UNSCHEDULABLE: "refused",
    Outcome.FITS: "fits",
    Outcome.ERROR: "error",
}


@dataclass(frozen=True, slots=True)
class PageAbilities:
    """What a reader may ask besides what is shown."""

    whatif: bool = False
    apply: bool = False
    history: bool = False
    why: bool = False
    exposure: bool = False


@dataclass(frozen=True, slots=True)
class PageHead:
    """``mode``: up, daemon, offline or context."""

    cluster: str
    mode: str
    can: PageAbilities = PageAbilities()


# --- the whole picture ---------------------------------------------------------------------------


def picture_json(
    head: PageHead,
    picture: Picture,
    revision: int = 0,
    known_since: float | None = None,
    may_get: MayGet = may_get_all,
) -> Json:
    resources = picture.resources()
    nodes = picture.nodes()
    groups = [row for row in picture.groups() if _shows_group(row.key, may_get)]
    node_index = {row.name: i for i, row in enumerate(nodes)}
    group_index = {row.key: i for i, row in enumerate(groups)}
    shows_pods = _Namespaces(may_get)
    return {
        "revision": revision,
        "time": picture.time,
        "knownSince": known_since,
        "cluster": head.cluster,
        "mode": head.mode,
        "can": asdict(head.can),
        "resources": resources,
        "nodes": [_node(row, resources) for row in nodes],
        "groups": [_group(row) for row in groups],
        "pods": [
            [
                row.key if (shown := shows_pods.has(row.key)) else "",
                row.uid,
                node_index.get(row.node, -1),
                row.priority,
                group_index.get(row.group, -1),
                _requests(row.requests, resources),
                row.state,
                node_index.get(row.nominated, -1),
                (row.reason or None) if shown else None,
            ]
            for row in picture.pods()
        ],
        "decisions": [decision_summary(kept, may_get) for kept in picture.decisions.all()],
    }


class _Namespaces:
    """Whether a reader may get pods of a namespace, found out once for each."""

    def __init__(self, may_get: MayGet) -> None:
        self._may_get = may_get
        self._known: dict[str, bool] = {}

    def has(self, key: str) -> bool:
        namespace = namespace_of_key(key)
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = self._may_get("Pod", namespace)
        return known


def _shows_group(key: str, may_get: MayGet) -> bool:
    kind = "CompositePodGroup" if key.startswith("CompositePodGroup ") else "PodGroup"
    return may_get(kind, namespace_of_key(key))


def _node(row: NodeRow, resources: Sequence[str]) -> list[Any]:
    amounts = [_in_unit(name, row.allocatable.get(name, 0)) for name in resources]
    return [row.name, row.pool, row.zone, int(row.ready), int(row.cordoned), amounts, list(row.taints)]


def _in_unit(name: str, amount: int) -> int:
    return amount // _MIB if name == MEMORY else amount


def _requests(amounts: Mapping[str, int], resources: Sequence[str]) -> list[int]:
    """Memory in MiB, rounded up: a pod is never shown with less than it has."""
    return [
        -(-amounts.get(name, 0) // _MIB) if name == MEMORY else amounts.get(name, 0) for name in resources
    ]


def _group(row: GroupRow) -> list[Any]:
    return [row.key, row.priority, row.min_count, "all" if row.whole else "single", row.parent]


# --- changes -------------------------------------------------------------------------------------


def change_json(
    change: PictureChange, resources: Sequence[str], may_get: MayGet = may_get_all
) -> Iterator[Json]:
    """One, or none if the reader may not know of it."""
    match change:
        case NodeRow():
            yield {"node": _node(change, resources)}
        case NodeGone(name):
            yield {"nodeGone": name}
        case PodRow():
            yield {"pod": _pod(change, resources, may_get)}
        case PodGone(uid=uid):
            yield {"podGone": uid}
        case GroupRow(key=key):
            if _shows_group(key, may_get):
                yield {"group": _group(change)}
        case GroupGone(key):
            if _shows_group(key, may_get):
                yield {"groupGone": key}
        case KeptDecision():
            yield {"decision": decision_summary(change, may_get)}


def _pod(row: PodRow, resources: Sequence[str], may_get: MayGet) -> list[Any]:
    shown = may_get("Pod", namespace_of_key(row.key))
    group = row.group if row.group and _shows_group(row.group, may_get) else None
    return [
        row.key if shown else "",
        row.uid,
        row.node or None,
        row.priority,
        group,
        _requests(row.requests, resources),
        row.state,
        row.nominated or None,
        (row.reason or None) if shown else None,
    ]


# --- decisions -----------------------------------------------------------------------------------


def decision_summary(kept: KeptDecision, may_get: MayGet = may_get_all) -> Json:
    decision = without_hidden_names(kept.decision, may_get)
    room = decision.preemption or Preemption()
    quality, demand, plan = room.quality, decision.demand, kept.plan
    return {
        "id": decision.id,
        "time": decision.at,
        "demand": {
            "kind": demand.kind,
            "key": _key(demand),
            "uid": demand.uid,
            "priority": decision.priority,
            "pods": decision.pods,
        },
        "outcome": outcome_word(decision),
        "stage": _stage(plan) if plan is not None else None,
        "ended": plan.end.value if plan is not None and plan.end is not None else None,
        "attempts": kept.attempts,
        "victims": room.pods,
        "spared": room.units_spared,
        "sparedPods": room.pods_spared,
        "why": _why(decision),
        "nodes": nodes_of(decision),
        "cost": shown_cost(quality) if quality is not None else None,
        "bound": shown_bound(quality) if quality is not None else None,
        "proved": quality.proved if quality is not None else None,
    }


def outcome_word(decision: Decision) -> str:
    """A demand that needs no victim only waits."""
    room = decision.preemption
    if decision.outcome is Outcome.PREEMPTS and (room is None or not room.pods):
        return _OUTCOMES[Outcome.WAITING]
    return _OUTCOMES[decision.outcome]


def _key(target: Target) -> str:
    """Empty if the reader may not know the name."""
    return name_key(target.namespace, target.name) if target.name else ""


def _stage(plan: PlanCourse) -> str:
    return "ended" if plan.end is not None else _shown_stage(plan.stage)


def _shown_stage(stage: str) -> str:
    """Marks on groups are marks, too."""
    return Stage.MARKING.value if stage == Stage.COMMITTING.value else stage


def _why(decision: Decision) -> str:
    room = decision.preemption
    if room is not None and room.pods:
        return room.choice_text
    if decision.eviction is not None:
        return decision.eviction.because.text
    if decision.outcome is Outcome.PREEMPTS:
        return "pods terminate anyway"
    return decision.miss.because.text if decision.miss is not None else decision.text


def decision_json(kept: KeptDecision, may_get: MayGet = may_get_all) -> Json:
    """The document of `/debug/decisions`, and what the page shows beside it."""
    decision = without_hidden_names(kept.decision, may_get)
    return {
        **kept_document(kept, may_get),
        "summary": decision_summary(kept, may_get),
        "stages": [*_stages(kept.plan)],
        "text": "\n".join(line.text for line in decision_lines(decision)),
        "cli": _command(decision),
    }


def _stages(plan: PlanCourse | None) -> Iterator[Json]:
    seen: set[str] = set()
    for stage, at in plan.reached.items() if plan is not None else ():
        if _shown_stage(stage) not in seen:
            seen.add(_shown_stage(stage))
            yield {"stage": _shown_stage(stage), "time": at}
    if plan is not None and plan.ended_at is not None:
        yield {"stage": "ended", "time": plan.ended_at}


def _command(decision: Decision) -> str:
    """Asks for the demand if it waits: later decisions take the place of this one."""
    # Names in a snapshot of unknown origin may be anything, and this is pasted into a shell.
    demand = decision.demand
    if decision.outcome is Outcome.PREEMPTS or not demand.name:
        return f"reprieve why {quote(decision.id)}"
    asked = f"{demand.kind.lower()}/{demand.name}"
    return f"reprieve why {quote(asked)} -n {quote(demand.namespace)}"


# --- names ---------------------------------------------------------------------------------------


def kinds_in_picture(picture: Picture) -> Iterator[Named]:
    """Which kinds, in which namespaces, a reader must be allowed to get to see all names in a picture."""
    for pod in picture.pods():
        yield from _kinds_in_change(pod)
    for group in picture.groups():
        yield from _kinds_in_change(group)
    for kept in picture.decisions.all():
        yield from named_in(kept.decision)


def kinds_in_changes(changes: Iterable[PictureChange]) -> Iterator[Named]:
    for change in changes:
        yield from _kinds_in_change(change)


def _kinds_in_change(change: PictureChange) -> Iterator[Named]:
    match change:
        case PodRow(key=key, group=group):
            yield "Pod", namespace_of_key(key)
            if group:
                yield "PodGroup", namespace_of_key(group)
        case GroupRow(key=key) | GroupGone(key=key):
            yield "PodGroup", namespace_of_key(key)
            yield "CompositePodGroup", namespace_of_key(key)
        case KeptDecision(decision=decision):
            yield from named_in(decision)
