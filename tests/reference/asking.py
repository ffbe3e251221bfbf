"""What each search answers in a world, in plain words. The one place that knows the names of the searches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reprieve.model.snapshot import NOWHERE, Snapshot, build
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand
from reprieve.placement.domains import place_together
from reprieve.placement.effort import Effort
from reprieve.placement.place import Placement, pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption import searches
from reprieve.preemption.least_disturbance.improve import Improve, Improved, Solution
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Units
from tests.properties.worlds import decoded
from tests.reference.demands import gang_demand, tree_demand
from tests.reference.plain.price import PodKey, Price, RunningCluster, price
from tests.reference.policies import UPSTREAM
from tests.reference.preemption_worlds import NOW, PreemptionWorld

# The list by which plans are compared, the most important first, and the part of it by which no other search
# may find a better plan. A resize prefers plans that leave other gangs complete.
LIST = (
    "BudgetsBroken",
    "HighestPriority",
    "PodsStopped",
    "WorkloadsEnded",
    "PrioritySum",
    "Cascade",
    "LostWork",
    "LatestStart",
)
FIRST = LIST[:3]
FIRST_FOR_RESIZES = (*LIST[:2], "OtherGangsBroken", *LIST[2:3])

DEFAULT = REPRIEVE
OTHERS: Mapping[str, Policy] = {
    "PriorityCeiling": replace(DEFAULT, search=searches.PRIORITY_CEILING),
    "Upstream": replace(DEFAULT, search=searches.UPSTREAM),
    "kube-scheduler": UPSTREAM,
}
USUAL_EFFORT = DEFAULT_PROFILE.planning_effort


def first_criteria(kind: str) -> tuple[str, ...]:
    return FIRST_FOR_RESIZES if kind == "resize" else FIRST


@dataclass(frozen=True, slots=True)
class Asked:
    """A world as the searches see it, and as a plain reading does."""

    view: Snapshot
    demand: Demand
    cluster: RunningCluster
    own_groups: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan, without anything that only its search can read."""

    victims: frozenset[PodKey]
    places: Mapping[PodKey, str]
    cost: Price  # as the search says, in the order in which it compares; empty if it says nothing
    proved: bool  # the search says that no plan is better by all of these
    proved_through: tuple[str, ...]  # or by these, which are the first of them
    solver_asked: bool
    is_sound: bool  # without the victims, there is room

    def price(self, cluster: RunningCluster, names: tuple[str, ...]) -> tuple[float, ...]:
        return tuple(price(cluster, self.victims, names).values())


def asked(world: PreemptionWorld) -> Asked:
    objects = [decoded(thing) for thing in world.objects]
    view = build(objects).snapshot
    rows = [view.pods.rows["default", name] for name in world.newcomers]
    groups = frozenset(key for row in rows if (key := view.pods.groups[row]) is not None)
    cluster = RunningCluster(
        objects,
        now=NOW,
        lost_work_cap=DEFAULT.lost_work_cap,
        absent=frozenset(("default", name) for name in world.newcomers),
    )
    if world.kind == "resize":
        demand, view = DeferredResizes().demand(view, rows[0], NOW)
    elif world.kind == "pod":
        demand = pod_demand(view, rows[0])
    elif world.kind == "gang":
        demand = gang_demand(view, rows, everybody=world.everybody)
    else:
        demand = tree_demand(view, rows, everybody=world.everybody)
    return Asked(view, demand, cluster, groups)


def answer(of: Asked, policy: Policy, effort: int = USUAL_EFFORT) -> Answer | None:
    """What would be carried out; None: there is no plan. Whether one is needed is asked by ``fits``."""
    demand = replace(of.demand, effort=Effort(effort))
    found = place_together(demand, of.view)
    assert not isinstance(found, Placement)
    calls: list[RoomModel] = []
    question = Question(demand, of.view, found.survey, policy=_counting(policy, calls))
    plans = candidates(question, NOW)
    return None if isinstance(plans, NoPlan) else _told(question, plans[0], solver_asked=bool(calls))


def _counting(policy: Policy, calls: list[RoomModel]) -> Policy:
    """The same, with a note whenever a solver is asked."""

    def improving(units: Units) -> Improve:
        improve = policy.improving(units)

        def noted(model: RoomModel, start: Solution | None, effort: Effort) -> Improved:
            calls.append(model)
            return improve(model, start, effort)

        return noted

    return replace(policy, improving=improving)


def fits(of: Asked) -> bool:
    """Whether there is room without any plan."""
    demand = replace(of.demand, effort=Effort(USUAL_EFFORT))
    return isinstance(place_together(demand, of.view), Placement)


def _told(question: Question, plan: Plan, *, solver_asked: bool) -> Answer:
    view, quality = question.view, plan.quality
    gone = [row for unit in plan.victims for row in unit.pods]
    cost = dict(quality.cost) if quality is not None else {}
    bound = dict(quality.bound) if quality is not None else {}
    through = []
    for name, value in cost.items():
        if bound.get(name) != value:
            break
        through.append(name)
    return Answer(
        victims=frozenset(_key(view, row) for row in gone),
        places={_key(view, row): view.nodes.names[node] for row, node in plan.places if node != NOWHERE},
        cost=cost,
        proved=quality is not None and quality.proved,
        proved_through=tuple(through),
        solver_asked=solver_asked,
        is_sound=holds(question.demand, plan.placement, without(view, gone), question.profile),
    )


def _key(view: Snapshot, row: int) -> PodKey:
    meta = view.pods.compiled[row].pod.metadata
    return meta.namespace, meta.name
