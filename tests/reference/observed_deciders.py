"""What Reprieve decides in a recorded case: one function for each capability that a case can need.

``DECIDERS`` is the registry. A capability without an entry is not built yet, and a case that needs it is
neither right nor wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

import msgspec

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand
from reprieve.placement.rating import Choose, best, rate
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.search import candidates
from tests.reference.demands import gang_demand, tree_demand
from tests.reference.observed_cases import Case, Observation
from tests.reference.policies import UPSTREAM, usual_rank


class Capability(StrEnum):
    PLACEMENT = "placement"
    PREEMPTION = "preemption"
    GANGS = "gangs"
    TREES = "trees"
    RESIZE = "resize"


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """No decision, for lack of this."""

    capability: Capability


# What is done in a case, under `policy: Upstream` and the default profile. The second argument says what
# was recorded: where several nodes are equally good, kube-scheduler takes any of them, and we take its.
Decide = Callable[[Case, Observation], Observation | NotBuilt]

NOTHING = Observation("nothing")
UPSTREAM_RESIZES = DeferredResizes(Accounting.UPSTREAM, spares_gangs=False)


def capability_of(case: Case) -> Capability:
    """What must be there to begin with; a decider hands on what turns out to need more."""
    if case.resize is not None:
        return Capability.RESIZE
    if case.is_tree:
        return Capability.TREES
    return Capability.GANGS if case.is_gang else Capability.PLACEMENT


def decide_by(capability: Capability, case: Case, recorded: Observation) -> Observation | NotBuilt:
    decide = DECIDERS.get(capability)
    return decide(case, recorded) if decide is not None else NotBuilt(capability)


def place_pod(case: Case, recorded: Observation) -> Observation | NotBuilt:
    demand = _pod_demand(case)
    match place(demand, case.view, choose=as_recorded(recorded)):
        case Placement() as placement:
            return Observation("placed", placed=_nodes(case.view, demand, placement))
        case Unplaceable():
            return decide_by(Capability.PREEMPTION, case, recorded)


def preempt_for_pod(case: Case, recorded: Observation) -> Observation:
    return _preempting(case.view, _pod_demand(case), recorded)


def place_gang(case: Case, recorded: Observation) -> Observation:
    demand = gang_demand(case.view, case.newcomers, everybody=True)
    return _as_one(case.view, demand, recorded)


def place_tree(case: Case, recorded: Observation) -> Observation:
    """Pods are created one by one, and kube-scheduler decides when the groups have as many as they need: any
    number of those beyond may have come too late for the decision that was recorded."""
    arrived = (case.newcomers[:known] for known in range(len(case.newcomers), 0, -1))
    demands = [tree_demand(case.view, pods, everybody=True) for pods in arrived]
    complete = _as_one(case.view, demands[0], recorded)
    others = (_as_one(case.view, one, recorded) for one in demands[1:] if len(one.pods) >= one.needed)
    return next((decided for decided in chain([complete], others) if decided == recorded), complete)


def _as_one(view: Snapshot, demand: Demand, recorded: Observation) -> Observation:
    match place_together(demand, view, choose=as_recorded(recorded)):
        case Placement() as placement:
            return Observation("placed", placed=_nodes(view, demand, placement))
        case Unplaceable():
            return _preempting(view, demand, recorded)


def resize_pod(case: Case, recorded: Observation) -> Observation:
    assert case.resize is not None
    row = case.view.pods.rows["default", case.resize.pod]
    pod, node = case.view.pods.compiled[row].pod, case.view.nodes.objects[int(case.view.where[row])]
    if UPSTREAM_RESIZES.forbidden(pod, node):
        return NOTHING
    demand, view = UPSTREAM_RESIZES.demand(case.view, row, now=0)
    if isinstance(place(demand, view), Placement):
        return NOTHING
    decided = _preempting(view, demand, recorded)
    return msgspec.structs.replace(decided, nominated={})  # it has its node


def _pod_demand(case: Case) -> Demand:
    (pod,) = case.newcomers
    return pod_demand(case.view, pod)


def _preempting(view: Snapshot, demand: Demand, recorded: Observation) -> Observation:
    choose = as_recorded(recorded)
    unplaced = place_together(demand, view, choose=choose)
    assert isinstance(unplaced, Unplaceable)
    policy = replace(UPSTREAM, choose=choose)
    plans = candidates(Question(demand, view, unplaced.survey, policy), now=0)
    if isinstance(plans, NoPlan):
        return NOTHING
    plan = _best_or_equal(plans, recorded)
    victims = frozenset(_name(view, pod) for unit in plan.victims for pod in unit.pods)
    return Observation("preempts", nominated=_nodes(view, demand, plan.placement), victims=victims)


# --- ties ----------------------------------------------------------------------------------------


def as_recorded(recorded: Observation) -> Choose:
    """The best node: the recorded one if it has the top score."""
    nodes = recorded.placed | recorded.nominated

    def choose(ask: Ask, feasible: Mask) -> int:
        ours = best(ask, feasible)
        theirs = ask.view.nodes.rows.get(nodes.get(_name(ask.view, ask.pod), ""))
        if theirs is None or not feasible[theirs]:
            return ours
        ratings = rate(ask, feasible).total
        return theirs if ratings[theirs] == ratings[ours] else ours

    return choose


def _best_or_equal(plans: Iterable[Plan], recorded: Observation) -> Plan:
    """By every criterion but the last, the name: of equals the recorded one."""
    return min(
        plans, key=lambda plan: (*usual_rank(plan)[:-1], plan.domain not in recorded.nominated.values())
    )


# --- names ---------------------------------------------------------------------------------------


def _name(view: Snapshot, pod: int) -> str:
    return view.pods.compiled[pod].pod.metadata.name


def _nodes(view: Snapshot, demand: Demand, placement: Placement) -> dict[str, str]:
    pairs = zip(demand.pods, placement.nodes, strict=True)
    return {_name(view, pod): view.nodes.names[node] for pod, node in pairs if node != NOWHERE}


DECIDERS: Mapping[Capability, Decide] = {
    Capability.PLACEMENT: place_pod,
    Capability.PREEMPTION: preempt_for_pod,
    Capability.GANGS: place_gang,
    Capability.TREES: place_tree,
    Capability.RESIZE: resize_pod,
}
