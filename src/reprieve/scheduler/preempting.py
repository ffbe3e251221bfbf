"""What to do for a demand that does not fit: a plan that counts what is leaving anyway as gone."""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable, with_promises
from reprieve.placement.profile import Profile
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.question import Question
from reprieve.preemption.search import search
from reprieve.preemption.sparing import holds
from reprieve.scheduler.demands import Asker
from reprieve.scheduler.handover import Handover


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A demand that is being decided, in words and in rows."""

    who: Asker
    demand: Demand
    view: Snapshot
    profile: Profile
    promised: Promised  # room that others wait for


def leaving(view: Snapshot) -> Ints:
    """Pods that are being deleted, for whatever reason: their room will be free."""
    return np.flatnonzero(view.pods.terminating & (view.where != NOWHERE))


def plan_for(
    case: Case, found: Unplaceable, policy: Policy, now: float, *, whole_gang: bool
) -> Plan | NoPlan:
    demand = _to_make_room_for(case, found, whole_gang=whole_gang)
    view = without(with_promises(case.view, case.promised), leaving(case.view))
    match place_together(demand, view, case.profile, policy.choose):
        case Placement() as placement:
            return Plan("", placement, (), (), 0, pods=demand.pods)
        case Unplaceable(survey=survey):
            return search(Question(demand, view, survey, case.profile, policy), now)


def _to_make_room_for(case: Case, found: Unplaceable, *, whole_gang: bool) -> Demand:
    """For as many pods as the gang needs; whoever is beyond that asks for himself alone."""
    demand = case.demand
    group = case.who.group
    if whole_gang or len(demand.pods) == 1:
        return demand
    if group is None or group.spec.gang is None or case.who.running >= group.spec.gang.min_count:
        return replace(demand, pods=(found.pod,), needed=1, nominated=())
    return replace(demand, most=demand.needed)


def still_feasible(case: Case, handover: Handover) -> bool:
    """Whether the pods could be where they wait to be, once those who have to go are gone."""
    view = with_promises(case.view, case.promised)
    going = [
        view.pods.rows[key] for t in handover.victims if (key := (t.namespace, t.name)) in view.pods.rows
    ]
    view = without(view, np.union1d(leaving(view), np.array(going, np.int64)))
    nodes = []
    for row in case.demand.pods:
        meta = view.pods.compiled[row].pod.metadata
        target = Target("Pod", meta.namespace, meta.name, meta.uid)
        nodes.append(view.nodes.rows.get(dict(handover.places).get(target, ""), NOWHERE))
    if all(node == NOWHERE for node in nodes):
        return False
    return holds(case.demand, Placement(tuple(nodes)), view, case.profile)
