"""The eviction limit in random crowds: no pod is preempted early, and no demand waits in vain or too long."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import RULES, Policy, Question
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, Crowd, seeded_crowd
from tests.properties.preempting import POLICIES, question_of, unspent
from tests.properties.worlds import decoded
from tests.reference.plain.eviction_limit import may_be_evicted_from, workload

NOW = 10_000.0
WINDOW = 600.0


@dataclass(frozen=True, slots=True)
class Evicted:
    """A crowd with controllers, and when its workloads were evicted."""

    crowd: Crowd
    moments: dict[str, Sequence[float]]
    limit: EvictionLimit

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        return tuple(map(decoded, (*self.crowd.objects, *self.crowd.newcomers)))


def evicted_crowd(seed: int) -> Evicted:
    rng, crowd = random.Random(seed), seeded_crowd(seed, EVERYTHING)
    namespaces = set()
    for thing in crowd.objects:
        if thing["kind"] == "Pod" and rng.random() < 0.8:
            thing["metadata"]["ownerReferences"] = [rng.choice(OWNERS)]
            namespaces.add(thing["metadata"]["namespace"])
    crowd = Crowd([*(_replica_set(name) for name in sorted(namespaces)), *crowd.objects], crowd.newcomers)
    limit = EvictionLimit(rng.choice((1, 2, 3)), WINDOW, rng.choice((0, 5, 50, 500, 5000)))
    objects = tuple(map(decoded, crowd.objects))
    workloads = sorted({workload(objects, pod) for pod in objects if isinstance(pod, Pod)})
    moments = {name: _moments(rng) for name in workloads if rng.random() < 0.7}
    return Evicted(crowd, {name: found for name, found in moments.items() if found}, limit)


def _owner(kind: str, name: str) -> Json:
    return {"kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


OWNERS = (_owner("ReplicaSet", "web-1"), _owner("ReplicaSet", "gone-1"), _owner("Job", "batch"))


def _replica_set(namespace: str) -> Json:
    meta = {"name": "web-1", "namespace": namespace, "uid": "ReplicaSet-web-1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {**meta, "ownerReferences": [_owner("Deployment", "web")]},
    }


def _moments(rng: random.Random) -> list[float]:
    return sorted(NOW - rng.uniform(0, 900) for _ in range(rng.randrange(5)))


EVICTED = st.builds(evicted_crowd, st.integers(0, 2**32 - 1))
MOMENTS = st.floats(NOW, NOW + 700)


def asked(evicted: Evicted, policy: Policy) -> Question | None:
    question = question_of(evicted.crowd, replace(policy, rules=(*RULES, WithinLimit(evicted.limit))))
    return replace(question, view=replace(question.view, evictions=evicted.moments)) if question else None


def end(evicted: Evicted, question: Question, pods: Sequence[int]) -> float:
    if question.demand.priority >= evicted.limit.below_priority:
        return -math.inf
    bodies = [question.view.pods.compiled[row].pod for row in pods]
    limit = evicted.limit
    return may_be_evicted_from(evicted.objects, bodies, evicted.moments, limit.evictions, limit.window)


@given(EVICTED, POLICIES, MOMENTS)
def test_columns_say_what_the_objects_say(evicted: Evicted, policy: Policy, now: float) -> None:
    question = asked(evicted, policy)
    if question is None:
        return
    units = policy.units(question.view)
    verdict = WithinLimit(evicted.limit)(units, question.demand, now)
    for number in np.unique(units.of_pod[units.of_pod != NOWHERE]).tolist():
        unit = units.unit(number)
        expected = end(evicted, question, unit.pods)
        assert verdict.allowed[number] == (expected <= now), unit.name
        if expected > now:
            assert verdict.until is not None
            assert verdict.until[number] == expected


@given(EVICTED, POLICIES, MOMENTS)
def test_no_pod_is_preempted_early(evicted: Evicted, policy: Policy, now: float) -> None:
    question = asked(evicted, policy)
    plans = candidates(question, now) if question is not None else []
    for plan in [] if isinstance(plans, NoPlan) else plans:
        assert question is not None
        assert all(end(evicted, question, unit.pods) <= now for unit in (*plan.victims, *plan.spared))


@given(EVICTED, POLICIES, MOMENTS)
def test_a_demand_that_will_have_a_plan_is_woken_in_time(
    evicted: Evicted, policy: Policy, now: float
) -> None:
    question = asked(evicted, policy)
    found = candidates(question, now) if question is not None else None
    if question is None or not isinstance(found, NoPlan):
        return
    units = question.policy.units(question.view)
    until = eligible(units, question.demand, question.policy.rules, now).until
    ends = sorted({float(e) for e in until if now < e < math.inf}) if until is not None else []
    for moment in ends:
        if not isinstance(candidates(question, moment), NoPlan):
            assert found.retry_at is not None
            assert found.retry_at <= moment
            break


@given(EVICTED, POLICIES)
def test_without_evictions_the_limit_changes_nothing(evicted: Evicted, policy: Policy) -> None:
    question = asked(replace(evicted, moments={}), policy)
    if question is not None:
        heedless = replace(question, policy=replace(policy, rules=RULES))
        assert candidates(unspent(question), NOW) == candidates(unspent(heedless), NOW)


def test_enough_is_protected() -> None:
    """Otherwise the properties above say nothing."""
    questions = [asked(evicted_crowd(seed), REPRIEVE) for seed in range(200)]
    found = [candidates(question, NOW) for question in questions if question is not None]
    refusals = [no for no in found if isinstance(no, NoPlan)]
    assert sum(no.retry_at is not None for no in refusals) > 20
    assert len(found) - len(refusals) > 20
