"""Every plan of the search, held against the objects themselves."""

import copy
import math
from dataclasses import replace

from hypothesis import given

from reprieve.model.objects import Pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, built, crowds, seeded_crowd
from tests.properties.preempting import POLICIES, PRIORITY_CEILING, places_of, plans_of, pods_of, question_of
from tests.properties.worlds import decoded
from tests.reference.plain.cluster import Cluster
from tests.reference.plain.victims import excess, priority_of, running, unit_of
from tests.reference.policies import UPSTREAM

CROWDS = crowds(EVERYTHING)


def test_most_crowds_must_preempt() -> None:
    plans = [plans_of(question_of(seeded_crowd(seed))) for seed in range(200)]
    assert sum(map(bool, plans)) > 100


def cluster_of(crowd: Crowd) -> Cluster:
    newcomer = decoded(crowd.newcomers[0])
    assert isinstance(newcomer, Pod)
    return Cluster(tuple(map(decoded, crowd.objects)), newcomer)


def holds(crowd: Crowd, places: dict[str, str], gone: set[str]) -> bool:
    """Whether the newcomers could be there, in the plan's order, in a cluster built without the victims."""
    objects = [o for o in crowd.objects if o["kind"] != "Pod" or o["metadata"]["name"] not in gone]
    by_name = {newcomer["metadata"]["name"]: newcomer for newcomer in crowd.newcomers}
    for name, node in places.items():
        newcomer = by_name[name]
        view, (row,) = built(Crowd(objects, [newcomer]))
        if not survey(Ask(view, row)).feasible[view.nodes.rows[node]]:
            return False
        bound = copy.deepcopy(newcomer)
        bound["spec"]["nodeName"] = node
        objects.append(bound)
    return True


@given(CROWDS, POLICIES)
def test_with_the_victims_gone_the_placement_holds(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    for plan in plans_of(question):
        assert question is not None
        places = places_of(question.view, plan)
        assert len(places) >= question.demand.needed
        assert holds(crowd, places, pods_of(question.view, plan.victims))


@given(CROWDS)
def test_no_pod_goes_in_vain(crowd: Crowd) -> None:
    assert_irreducible(crowd, REPRIEVE)


@given(crowds(ROOM_ONLY))
def test_no_pod_goes_in_vain_upstream_where_only_room_matters(crowd: Crowd) -> None:
    assert_irreducible(crowd, UPSTREAM)


def assert_irreducible(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    for plan in plans_of(question):
        assert question is not None
        places = places_of(question.view, plan)
        for unit in plan.victims:
            others = [u for u in plan.victims if u is not unit]
            assert not holds(crowd, places, pods_of(question.view, others)), unit.name


@given(CROWDS, POLICIES)
def test_only_the_less_important_are_taken_or_even_looked_at(crowd: Crowd, policy: Policy) -> None:
    question, cluster = question_of(crowd, policy), cluster_of(crowd)
    there = {pod.metadata.name: pod for pod in running(cluster)}
    for plan in plans_of(question):
        assert question is not None
        for pod in pods_of(question.view, (*plan.victims, *plan.spared)):
            assert priority_of(cluster.objects, there[pod]) < question.demand.priority


@given(CROWDS, POLICIES)
def test_what_goes_together_stays_together(crowd: Crowd, policy: Policy) -> None:
    question, cluster = question_of(crowd, policy), cluster_of(crowd)
    members: dict[tuple[str, str], set[str]] = {}
    for pod in running(cluster):
        members.setdefault(unit_of(cluster.objects, pod), set()).add(pod.metadata.name)
    for plan in plans_of(question):
        assert question is not None
        for unit in (*plan.victims, *plan.spared):
            kind, _, name = unit.name.split("/")
            assert pods_of(question.view, [unit]) == members[kind, name]


@given(CROWDS, POLICIES)
def test_a_plan_is_about_its_domain(crowd: Crowd, policy: Policy) -> None:
    """Every eligible unit there is a victim or spared, and no other unit is; pods are placed nowhere else."""
    question = question_of(crowd, policy)
    for plan in plans_of(question):
        assert question is not None
        domain = nodes_of(question, plan)
        assert set(places_of(question.view, plan).values()) <= domain
        priorities = [unit.priority for unit in plan.victims]
        assert priorities == sorted(priorities, reverse=True)
        for unit in (*plan.victims, *plan.spared):
            where = {question.view.nodes.names[question.view.where[pod]] for pod in unit.pods}
            assert where & domain


def nodes_of(question: Question, plan: Plan) -> set[str]:
    """The domain's name is that of a node, of the cluster, or a value of the demand's topology."""
    names, key = question.view.nodes.names, question.demand.topology_key
    if plan.domain in names:
        return {plan.domain}
    if plan.domain == "cluster":
        return set(names)
    return {name for row, name in enumerate(names) if question.view.nodes.label(key)[row] == plan.domain}


@given(CROWDS, POLICIES)
def test_what_a_plan_costs(crowd: Crowd, policy: Policy) -> None:
    question, cluster = question_of(crowd, policy), cluster_of(crowd)
    there = {pod.metadata.name: pod for pod in running(cluster)}
    for plan in plans_of(question):
        assert question is not None
        victims = [there[pod] for pod in pods_of(question.view, plan.victims)]
        priorities = [priority_of(cluster.objects, pod) for pod in victims]
        highest = max(priorities, default=-math.inf)
        starts = [
            pod.status.start_time.timestamp() if pod.status.start_time else math.inf
            for pod, priority in zip(victims, priorities, strict=True)
            if priority == highest
        ]
        expected = {
            "HighestPriority": highest,
            "PrioritySum": sum(priority + 2**31 for priority in priorities),
            "LatestStart": -min(starts, default=math.inf),
        }
        expected |= (
            {"Pods": len(victims)}
            if policy is UPSTREAM
            else {"BudgetsBroken": excess(cluster.objects, victims)}
        )
        assert expected.items() <= dict(plan.cost.named()).items()


@given(CROWDS)
def test_a_ceiling_is_not_exceeded(crowd: Crowd) -> None:
    for policy in (REPRIEVE, PRIORITY_CEILING):
        for plan in plans_of(question_of(crowd, policy)):
            assert plan.ceiling is None or all(unit.priority <= plan.ceiling for unit in plan.victims)


@given(CROWDS)
def test_budgets_that_must_hold_do(crowd: Crowd) -> None:
    strict = replace(REPRIEVE, breaks_no_budget=True)
    question, cluster = question_of(crowd, strict), cluster_of(crowd)
    there = {pod.metadata.name: pod for pod in running(cluster)}
    for plan in plans_of(question):
        assert question is not None
        assert not excess(cluster.objects, [there[pod] for pod in pods_of(question.view, plan.victims)])
