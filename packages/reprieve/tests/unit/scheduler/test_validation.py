"""Each rule between what the scheduler remembers can be broken, and says of which pod and how."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_budget
from tests.unit.scheduler.making import a_claim, a_class, a_key, a_node, a_pod, target
from tests.unit.scheduler.serving import Served, conditioned, served, until
from tests.unit.scheduler.validation import BrokenRuleError, validate

from reprieve.model.effects import Announce, BindVolume, Evict, SelectNode, Target, Tone
from reprieve.model.objects import Condition
from reprieve.scheduler.ledger.assumed import Assumed, Promise
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.ledger.unit_evictions import UnitPod
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.state import State

READY = Condition("Ready", "True")
NEW, OLD = a_pod("new", cpu="2", priority=9), a_pod("old", cpu="3", on="n1", labels={"app": "web"})
LATE, STORED = a_pod("late", cpu="4"), a_pod("stored", cpu="1", claims=["data"])
GONE = Target("Pod", "default", "new", "another")
KEY = a_key("new")
STEP = SelectNode(target(a_claim("data")), "n2")


def cluster(stage: Stage = Stage.DRAINING) -> Served:
    """A plan is carried out, a pod waits, and another is assumed on a node while its volume is made."""
    shown = (a_node("n1"), a_node("n2", cpu="1"), a_budget("web", 1, app="web"), conditioned(OLD, READY))
    made = served(*shown, a_class(), a_claim("data"), NEW)
    return until(made, stage).show(LATE, STORED)


def test_what_happens_breaks_no_rule() -> None:
    for stage in (Stage.NOMINATED, Stage.MARKING, Stage.EVICTING, Stage.DRAINING):
        validate(cluster(stage).stage.scheduler)


def assume(memory: State, **fields: object) -> None:
    """Changes the promise to the pod whose volume is being made."""
    memory.ledger.assumed.promise(replace(promised(memory), **fields))  # type: ignore[arg-type]  # by name


def promised(state: State) -> Assumed:
    (assumed,) = state.ledger.assumed
    return assumed


def move(state: State) -> None:
    state.ledger.nominations.nominate(target(NEW), "n2", NominationReason.PLAN)


def forget_plan(state: State) -> None:
    state.plans.drop(KEY)


def keep(state: State, **fields: object) -> None:
    plan = state.plans.of(KEY)
    assert plan is not None
    state.plans.keep(KEY, replace(plan, **fields))  # type: ignore[arg-type]  # by name


def two_promises(state: State) -> None:
    state.ledger.nominations.nominate(target(STORED), "n2", NominationReason.KEPT)


def mark_unseen(state: State) -> None:
    state.ledger.victims.on_seen(target(LATE), marked=True)


def answer_unasked(state: State) -> None:
    assume(state, shown=frozenset({BindVolume(target(a_claim("data")), STEP.target)}))


def leave_demand(state: State) -> None:
    state.ledger.parts.leave(target(LATE))


def forget_budgets(state: State) -> None:
    state.world._others.clear()


def spoil_units(state: State) -> None:
    state.ledger.unit_evictions.begin([UnitPod(target(OLD), "g", ("default", "g"), "", 0.0)])
    state.ledger.unit_evictions._groups.remove(("default", "g"), target(OLD))


Break = Callable[[State], object]

WAYS: dict[str, tuple[Break, str]] = {
    "assumed, and gone": (
        lambda s: s.ledger.assumed.promise(Assumed(GONE, "n1", Promise.SENT)),
        "Pod default/new: it is assumed on a node, and not known",
    ),
    "assumed, and shown": (
        lambda s: s.ledger.assumed.promise(Assumed(target(OLD), "n1", Promise.SENT)),
        "Pod default/old: it is shown on a node, and still assumed",
    ),
    "assumed, and of no demand": (
        lambda s: s.ledger.parts.leave(target(STORED)),
        "Pod default/stored: it is assumed on a node, and part of no demand",
    ),
    "assumed and nominated": (two_promises, "Pod default/stored: it is both assumed on a node and nominated"),
    "not counted": (
        lambda s: s.ledger.assumed.promise(Assumed(target(LATE), "n2", Promise.SENT)),
        "Pod default/late: it counts on node '', and is shown or assumed on 'n2'",
    ),
    "still counted": (
        lambda s: s.ledger.assumed.settle(target(STORED)),
        "Pod default/stored: it counts on node 'n2', and is shown or assumed on ''",
    ),
    "a step without a promise": (
        lambda s: s.ledger.assumed._by_step.add(BindVolume(target(LATE), STEP.target), target(STORED)),
        "Pod default/late: a volume step is under way for it, and no promise needs that",
    ),
    "a promise without its step": (
        lambda s: s.ledger.assumed._by_step.remove(STEP, target(STORED)),
        "Pod default/stored: it waits for a volume step that does not count as under way",
    ),
    "a step that was not asked for": (
        answer_unasked,
        "Pod default/stored: a volume step was answered or shown that it does not wait for",
    ),
    "volumes without an end": (
        lambda s: assume(s, due=None),
        "Pod default/stored: its volumes are being prepared without steps or without an end",
    ),
    "a bind that is late for its volumes": (
        lambda s: assume(s, state=Promise.SENT),
        "Pod default/stored: its bind was sent, and a time is left",
    ),
    "to be served, and gone": (
        lambda s: s.ledger.parts.join(GONE, KEY),
        "Pod default/new: it is part of .* and not known",
    ),
    "forgotten": (
        lambda s: s.queue.remove(a_key("late")),
        "Pod default/late: it waits, and noth",
    ),
    "a demand of no pods": (leave_demand, r"name='late'.: it is in the queue, and no pod"),
    "a fault of no pod": (
        lambda s: s.demands.faults.update({GONE: "odd"}),
        "Pod default/new: its fault is remembered, and it is part of no demand",
    ),
    "nominated, and gone": (
        lambda s: s.ledger.nominations.nominate(GONE, "n1", NominationReason.PLAN),
        "Pod default/new: it is nominated to a node, and does not wait",
    ),
    "nominated without a plan": (
        forget_plan,
        "Pod default/new: it is nominated to n1, and no plan makes that",
    ),
    "nominated elsewhere": (move, "Pod default/new: it is nominated to n2, and no plan makes that room"),
    "nominated to no node": (
        lambda s: s.ledger.nominations.nominate(target(LATE), "n3", NominationReason.KEPT),
        "Pod default/late: it is nominated to n3, which is gone",
    ),
    "not nominated": (
        lambda s: s.ledger.nominations.withdraw(target(NEW)),
        "Pod default/new: a plan makes room for it on n1, and it is not nominated there",
    ),
    "a nomination lingers on nothing": (
        lambda s: s.ledger.nominations.linger(GONE),
        "Pod default/new: a nomination lingers on it, and it is not known",
    ),
    "a part that its demand does not know": (
        lambda s: s.ledger.parts._pods.remove(a_key("late"), target(LATE)),
        "Pod default/late: it is part of .* which does not know it",
    ),
    "a nomination that its node does not know": (
        lambda s: s.ledger.nominations._by_node.remove("n1", target(NEW)),
        "Pod default/new: it is nominated to n1, which does not know it",
    ),
    "a plan for no demand": (
        lambda s: s.plans.keep(a_key("ghost"), s.plans.of(KEY)),  # type: ignore[arg-type]  # not None
        "'ghost'.: it has a plan, and is not in the queue",
    ),
    "held without calls": (
        lambda s: s.queue.hold(KEY),
        "it is Standing.HELD while its plan is Stage.DRAINING",
    ),
    "calls after their stage": (
        lambda s: keep(s, pending=frozenset({Evict(target(OLD))})),
        "its plan is Stage.DRAINING and waits for 1 calls",
    ),
    "a plan that its victim does not know": (
        lambda s: s.plans._by_target.remove(target(OLD), KEY),
        "name='new'.: its plan is not found by its calls, victims or nodes",
    ),
    "a plan that its node does not know": (
        lambda s: s.plans._by_node.remove("n1", KEY),
        "name='new'.: its plan is not found by its calls, victims or nodes",
    ),
    "needed by no plan": (
        lambda s: s.ledger.victims.need([target(LATE)]),
        "name='new'.: its plan is not found .* or others are needed gone",
    ),
    "a mark that counts as unused, and is none": (
        lambda s: s.ledger.victims._unused.add(target(OLD)),
        "Pod default/old: its mark is unused: False; the ledger says otherwise",
    ),
    "a victim that its column does not show": (
        lambda s: s.columns._chosen._born.fill(0),
        "Pod default/old: it is a victim in flight, or its column says so, and not both",
    ),
    "room that its columns do not show": (
        lambda s: s.columns._nominated._born.fill(0),
        "they reserve .* and their columns say otherwise",
    ),
    "a pod of a unit that its group does not know": (
        spoil_units,
        "its pods are not found by themselves, or by their groups",
    ),
    "a stray call of no plan": (
        lambda s: s.ledger.victims.stray([Announce(target(OLD), Tone.NORMAL, "", "", "")]),
        "Pod default/old: no plan makes the call",
    ),
    "a mark that is not shown": (
        mark_unseen,
        "Pod default/late: it shows a mark: False; the ledger says otherwise",
    ),
    "a mark of no pod": (
        lambda s: s.ledger.victims.on_seen(GONE, marked=True),
        "Pod default/new: its mark is remembered, and it is not known",
    ),
    "a mark of no group": (
        lambda s: s.ledger.victims.on_seen(msgspec.structs.replace(GONE, kind="PodGroup"), marked=True),
        "PodGroup default/new: its mark is remembered, and it is not known",
    ),
    "terminating, and gone": (
        lambda s: s.ledger.terminating.begin(GONE, 0.0),
        "Pod default/new: it counts as terminating, and is not known",
    ),
    "deleted, and not terminating": (
        lambda s: s.ledger.terminating.end(target(OLD)),
        "Pod default/old: it is being deleted, and does not count as terminating",
    ),
    "a budget that waits for nothing": (
        lambda s: s.ledger.budget_lag.on_terminating(
            target(LATE), conditioned(OLD, READY), s.world.snapshot().budgets
        ),
        "Pod default/late: budget default/web has yet to count it, and it is not leaving",
    ),
    "a budget that is gone": (
        forget_budgets,
        "Pod default/old: budget default/web has yet to count it, and is gone",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_rule_can_be_broken(way: str) -> None:
    scheduler = cluster().stage.scheduler
    spoil, sentence = WAYS[way]
    spoil(scheduler._state)
    with pytest.raises(BrokenRuleError, match=sentence):
        validate(scheduler)


def test_an_eviction_in_flight_of_a_pod_that_does_not_count_as_terminating() -> None:
    scheduler = cluster(Stage.EVICTING).stage.scheduler
    scheduler._state.ledger.terminating.end(target(OLD))
    with pytest.raises(BrokenRuleError, match="Pod default/old: its eviction is in flight"):
        validate(scheduler)
