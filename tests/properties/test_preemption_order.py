"""The victims depend on the cluster: not on the order of its events, nor on the process, nor on features
that are not used; and a search changes nothing."""

import copy
import os
import random
import sys
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.annotations import DELETION_COST, DISRUPTION_COST
from reprieve.model.json import Json
from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.criteria import DISTURBANCE, WORKLOADS_ENDED
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import pods_alone
from tests.processes import run_process
from tests.properties.crowded import EVERYTHING, Crowd, built, crowds
from tests.properties.preempting import POLICIES, answer, plans_of, question_of
from tests.properties.test_whatif import arrays
from tests.reference.plain.members import cheaper, importance

CROWDS = crowds(EVERYTHING)
SEEDS = st.integers(0, 2**32 - 1)


@given(CROWDS, POLICIES)
def test_the_same_question_has_the_same_answer(crowd: Crowd, policy: Policy) -> None:
    assert answer(crowd, policy) == answer(copy.deepcopy(crowd), policy)


@given(CROWDS, POLICIES, SEEDS)
def test_the_order_of_rows_never_shows(crowd: Crowd, policy: Policy, seed: int) -> None:
    rng = random.Random(seed)
    objects, newcomers = list(crowd.objects), list(crowd.newcomers)
    rng.shuffle(objects)
    rng.shuffle(newcomers)
    assert answer(Crowd(objects, newcomers), policy) == answer(crowd, policy)


def test_the_hash_seed_never_shows() -> None:
    assert _digest_in_process("1") == _digest_in_process("2")


def _digest_in_process(hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.properties.preemption_digest", "60"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = run_process(command, env=environment, check=True)
    assert done.stdout.strip()
    return done.stdout


@given(CROWDS, POLICIES)
def test_the_snapshot_is_left_as_it_was(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    before = {path: array.tobytes() for path, array in arrays(question.view)}
    plans_of(question)
    after = {path: array.tobytes() for path, array in arrays(question.view)}
    assert before.items() <= after.items(), "memos may have grown, nothing else"


# --- features that are not used ------------------------------------------------------------------


@given(CROWDS, POLICIES)
def test_groups_and_budgets_that_mean_none(crowd: Crowd, policy: Policy) -> None:
    meta = {"name": "unused", "namespace": "default"}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta}
    group["spec"] = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}, "priority": 5}
    budget: Json = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}
    budget["spec"] = {"selector": {"matchLabels": {"app": "unused"}}}
    assert answer(Crowd([*crowd.objects, group, budget], crowd.newcomers), policy) == answer(crowd, policy)


@given(CROWDS)
def test_budgets_that_allow_plenty(crowd: Crowd) -> None:
    generous, none = copy.deepcopy(crowd), [o for o in crowd.objects if o["kind"] != "PodDisruptionBudget"]
    for thing in generous.objects:
        if thing["kind"] == "PodDisruptionBudget":
            thing["status"]["disruptionsAllowed"] = 1000
    assert answer(generous) == answer(Crowd(none, crowd.newcomers))


@given(CROWDS)
def test_groups_that_are_taken_pod_by_pod(crowd: Crowd) -> None:
    """Groups that say single and agree with their pods about priority might as well not be there: if they
    need no number of pods, and none of these costs more than another."""
    single = copy.deepcopy(crowd)
    for thing in single.objects:
        if thing["kind"] in ("PodGroup", "CompositePodGroup"):
            thing["spec"]["disruptionMode"] = {"single": {}}
            if thing["metadata"]["name"] != "gang":
                thing["spec"]["schedulingPolicy"] = {"basic": {}}
        for cost in (DISRUPTION_COST, DELETION_COST):
            thing["metadata"].get("annotations", {}).pop(cost, None)
    # A tree without a pod left has ended, and pods without groups are in none.
    order = tuple(one for one in DISTURBANCE if one is not WORKLOADS_ENDED)
    policy = replace(REPRIEVE, disturbance=order)
    assert answer(single, policy) == answer(single, replace(policy, units=pods_alone))


@given(CROWDS, POLICIES)
def test_nodes_that_are_closed(crowd: Crowd, policy: Policy) -> None:
    closed = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "closed"},
        "spec": {"unschedulable": True},
        "status": {"allocatable": {"cpu": "0", "pods": "0"}},
    }
    assert answer(Crowd([closed, *crowd.objects], crowd.newcomers), policy) == answer(crowd, policy)


@given(CROWDS)
def test_costs_order_the_pods_of_a_group(crowd: Crowd) -> None:
    """And no others: the columns against the plain reading, unit by unit."""
    view, _ = built(crowd)
    units = REPRIEVE.units(view)
    numbers = np.unique(units.of_pod[units.of_pod != NOWHERE])
    listed = units.listed(numbers)
    assert listed == sorted(listed, key=lambda unit: importance(units, unit))
    for unit in listed:
        alone = unit.number < len(view.pods)
        assert (unit.cheaper, unit.cheaper_to_delete) == (cheaper(units, unit) if alone else (0, 0))
