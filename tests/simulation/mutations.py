"""Deliberate mistakes in the scheduler, each of which a simulation, an exploration or a test must find.

`python -m tests.simulation.mutations` looks for each of them and says what found it; with a name, for one.
"""

import argparse
import os
import runpy
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

from tests.architecture.source import ROOT

UNIT = ROOT / "packages/reprieve/tests/unit"
_MOST_SECONDS = 300.0
_TOLD = "told.txt"

STATES = ("-m", "tests.simulation.reachable", "2")
MEMBERS = ("-m", "tests.simulation.reachable", "1", "--whole", "--mishaps", "2")
REPLACED = ("-m", "tests.simulation.reachable", "1", "--replaced", "--mishaps", "2")

PYTEST = ("-m", "pytest", "-qx", "-p", "no:cacheprovider")
WAKING = (*PYTEST, "-k", "wake-", str(ROOT / "tests/scenarios/test_scenarios.py"))
LIMITS = (*PYTEST, "-k", "eviction_limit", str(ROOT / "tests/scenarios/test_scenarios.py"))


def seeds(*numbers: int) -> tuple[str, ...]:
    return ("-m", "tests.simulation", *map(str, numbers))


def unit(test: str) -> tuple[str, ...]:
    """A test of the scheduler alone, which is looked at after every step: the cheapest where it is enough."""
    return (*PYTEST, str(UNIT / "scheduler" / test))


WHOLE = unit("test_whole_units.py")
IMPROVING = unit("test_improving.py")
CRITERIA = (*PYTEST, str(UNIT / "preemption/test_criteria.py"))


@dataclass(frozen=True, slots=True)
class Mutation:
    name: str
    file: str  # from its package on
    old: str  # is there once
    new: str
    found_by: tuple[str, ...]  # arguments of python: what finds it fastest

    @property
    def source(self) -> Path:
        """Where packages of the file's distribution are."""
        (package,) = ROOT.glob(f"packages/*/src/{Path(self.file).parts[0]}")
        return package.parent

    def original(self) -> str:
        return (self.source / self.file).read_text()


MUTATIONS = (
    Mutation(
        "a lost wake-up: the preemptor is not decided when the last victim is gone",
        "reprieve/scheduler/execution/plan_driver.py",
        "    if handover.stage is Stage.READY:\n        state.queue.again(key, now.elapsed)\n",
        "    if handover.stage is Stage.READY:\n        pass\n",
        STATES,
    ),
    Mutation(
        "a preemptor that is held for ever after the calls",
        "reprieve/scheduler/execution/plan_driver.py",
        "        state.queue.let_wait(key, now.elapsed)\n",
        "        pass\n",
        STATES,
    ),
    Mutation(
        "a missing precondition: a namesake of the victim is evicted",
        "reprieve_minicluster/store/scheduler_calls.py",
        "store.delete(key_of_target(pod), uid=pod.uid, grace=grace)",
        "store.delete(key_of_target(pod), grace=grace)",
        seeds(14, 54, 99, 142),
    ),
    Mutation(
        "victims are evicted before they are marked",
        "reprieve/scheduler/plans/handover.py",
        "    (Stage.NOMINATED, Turn.ANSWERED): Stage.MARKING,\n",
        "    (Stage.NOMINATED, Turn.ANSWERED): Stage.EVICTING,\n",
        STATES,
    ),
    Mutation(
        "a mark that is not cleared: what an earlier run left stays",
        "reprieve/scheduler/execution/plan_driver.py",
        '    return {mark for mark in unused if mark.kind == "Pod" or _may_be_cleared(units, mark)}\n',
        "    return set()\n",
        STATES,
    ),
    Mutation(
        "a nomination that is not withdrawn",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        '    outbox.put(*(Nominate(nomination.pod, "") for nomination in written))\n',
        "",
        STATES,
    ),
    Mutation(
        "room that is not reserved",
        "reprieve/scheduler/deciding/plan_opening.py",
        "            state.ledger.nominations.nominate(pod, node, NominationReason.PLAN)\n",
        "            pass\n",
        unit("test_core_preemption.py"),
    ),
    Mutation(
        "a plan that goes on after an eviction failed",
        "reprieve/scheduler/execution/plan_driver.py",
        "    plan_anew(state, key, failure.reason, now)\n    if isinstance(found, Requester):\n",
        "    if isinstance(found, Requester):\n",
        STATES,
    ),
    Mutation(
        "a plan whose end is not recorded",
        "reprieve/scheduler/execution/plan_driver.py",
        "    state.plan_log.on_ended(key, reason, now)\n",
        "",
        STATES,
    ),
    Mutation(
        "evictions that are not judged when their preemptor is bound",
        "reprieve/scheduler/events/enqueueing.py",
        "    on_pod_settled(state, key, pod, now)\n",
        "",
        STATES,
    ),
    Mutation(
        "an answer that was lost and is not asked for again",
        "reprieve/scheduler/events/unknown_outcomes.py",
        "            if state.plans.match_lost_answer(effect) or",
        "            if",
        STATES,
    ),
    Mutation(
        "a victim that vanishes by itself is waited for",
        "reprieve/scheduler/plans/handover.py",
        "replace(handover, gone=handover.gone | {target}, pending=pending)",
        "replace(handover, pending=pending)",
        STATES,
    ),
    Mutation(
        "old news revive the dead",
        "reprieve/scheduler/mirror/tombstones.py",
        "        return last is not None and",
        "        return False and last is not None and",
        seeds(19, 63, 64, 87),
    ),
    Mutation(
        "durations are measured on a clock that may be set",
        "reprieve/runtime/loop.py",
        "        return Moment(self._clock(), asyncio.get_running_loop().time())\n",
        "        return Moment(self._clock(), self._clock())\n",
        seeds(213, 261, 474),
    ),
    Mutation(
        "a bind that failed keeps its room",
        "reprieve/scheduler/events/binding.py",
        "    changes = state.world.count_anew((pod.namespace, pod.name))\n"
        "    state.queue.wake_all(changes, now.elapsed, nodes=(assumed.node,))\n",
        "",
        unit("test_binding.py::test_a_failed_bind_gives_the_room_back"),
    ),
    Mutation(
        "a group is torn apart: only its first pod is evicted",
        "reprieve/scheduler/plans/handover.py",
        "    return tuple(Evict(victim) for victim in handover.victims if",
        "    return tuple(Evict(victim) for victim in handover.victims[:1] if",
        STATES,
    ),
    # A group that is evicted whole goes whole or not at all.
    Mutation(
        "a group is left in part: pods that joined it since the decision stay",
        "reprieve/scheduler/execution/last_look.py",
        "if pod in known or not ledger.assumed.is_preparing(pod)}\n",
        "if pod in known}\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a pod of which is heard after the first delete stays",
        "reprieve/scheduler/execution/unit_driver.py",
        "    if not len(begun) or target in begun",
        "    if True or target in begun",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a pod stays that a watch shows when a victim counts as stuck",
        "reprieve/scheduler/execution/unit_driver.py",
        "else partial(units.is_past, now=now.elapsed)\n",
        "else units.is_over\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: members whose room is not needed stay",
        "reprieve/scheduler/plans/handover.py",
        "    return tuple(Evict(victim) for victim in handover.victims if victim not in handover.gone)",
        "    return tuple(Evict(v) for v in handover.victims if v not in handover.gone | handover.elsewhere)",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a delete whose answer was lost is not sent again without its plan",
        "reprieve/scheduler/events/unknown_outcomes.py",
        "            if state.plans.match_lost_answer(effect) or unit_driver.resend(state.units, effect):\n",
        "            if state.plans.match_lost_answer(effect):\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a delete that was refused is not sent again",
        "reprieve/scheduler/ledger/unit_evictions.py",
        "        self._due[pod] = now + max(_SOON, _PAUSES.after(refusals))\n",
        "",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: deletes are taken back when the preemptor goes in the same breath",
        "reprieve/scheduler/execution/plan_driver.py",
        "    elif effect.target in state.ledger.unit_evictions:\n",
        "    elif False:\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a new leader does not finish it",
        "reprieve/scheduler/core.py",
        "                    unit_driver.resume(state.units, state.outbox, state.evictions, now)\n",
        "",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a new leader takes a pod that was not marked yet for a new start",
        "reprieve/scheduler/execution/unit_driver.py",
        "        elif opened:\n",
        "        elif opened and any(map(is_marked, (pod for pod, _ in members))):\n",
        MEMBERS,
    ),
    Mutation(
        "a group starts while its mark is open, so that a new leader evicts it",
        "reprieve/scheduler/plans/whole_units.py",
        "        return self.committing().union(begun, self.ledger.open_marks.units())\n",
        "        return self.committing().union(begun)\n",
        REPLACED,
    ),
    Mutation(
        "a mark that is not closed: the group does not start again",
        "reprieve/scheduler/core.py",
        "            group_marks.close_marks(state.units, state.outbox, now)\n",
        "            pass\n",
        REPLACED,
    ),
    Mutation(
        "a mark is closed while pods of the group are waited for",
        "reprieve/scheduler/execution/group_marks.py",
        "    waited = frozenset(one.unit for one in marks if units.is_waited_for(one.unit))\n",
        "    waited = frozenset[str]()\n",
        unit("test_group_marks.py"),
    ),
    Mutation(
        "a mark that is not closed: a plan that is called off leaves it behind",
        "reprieve/scheduler/execution/plan_driver.py",
        "        group_marks.open_marks(state.units, _texts(handover, units))\n",
        "        pass\n",
        unit("test_group_marks.py"),
    ),
    Mutation(
        "a group is left in part, and its marks are swept",
        "reprieve/scheduler/execution/plan_driver.py",
        "units.plans.unused_marks() if not _is_of_unit(units, mark)}\n",
        "units.plans.unused_marks()}\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: it is not looked at again before the first delete",
        "reprieve/scheduler/execution/plan_driver.py",
        "    if before.evicts_later and any(isinstance(effect, Evict) for effect in effects):\n",
        "    if False:\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a plan that is called off between its stages takes the group with it",
        "reprieve/scheduler/execution/plan_driver.py",
        "    handover = state.plans.drop(key)\n",
        "    handover = state.plans.drop(key)\n"
        "    for one in handover.victims if handover is not None else ():\n"
        "        state.ledger.unit_evictions.on_gone(one)\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part, and its marks are cleared with the plan",
        "reprieve/scheduler/execution/plan_driver.py",
        "(*handover.victims, *handover.marks) if _keeps_its_mark(state.units, mark)}\n",
        "(*handover.victims, *handover.marks) if mark in state.plans.needed()}\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a new leader leaves out pods that joined it",
        "reprieve/scheduler/execution/unit_driver.py",
        "        if not shown_mark(pod) and _may_go(units.world, pod):\n",
        "        if False:\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part, and does not name the pods that the API server keeps",
        "reprieve/scheduler/execution/unit_driver.py",
        "    if refused:\n",
        "    if False:\n",
        WHOLE,
    ),
    Mutation(
        "a group is left in part: a relist shows what is gone before what is there",
        "reprieve_minicluster/store/__init__.py",
        "        changes = [*self._new(listing), *self._replaced(listing), *self._vanished(listing)]\n",
        "        changes = [*self._vanished(listing), *self._replaced(listing), *self._new(listing)]\n",
        seeds(1),
    ),
    Mutation(
        "pods of a group start when its deletes are sent, and not when its pods are gone",
        "reprieve/scheduler/plans/whole_units.py",
        "        return self.committing().union(begun, self.ledger.open_marks.units())\n",
        "        return self.committing()\n",
        WHOLE,
    ),
    Mutation(
        "pods of a group start until its first delete",
        "reprieve/scheduler/plans/whole_units.py",
        "        return self.committing().union(begun, self.ledger.open_marks.units())\n",
        "        return self.ledger.open_marks.units().union(begun)\n",
        WHOLE,
    ),
    Mutation(
        "one half of a group starts beside the end of the other",
        "reprieve/scheduler/demand_lookup.py",
        "        if held is not None:\n",
        "        if False:\n",
        WHOLE,
    ),
    Mutation(
        "pods of a group that went wait for ever",
        "reprieve/scheduler/core.py",
        "        enqueueing.update_held_units(state, now)\n",
        "",
        WHOLE,
    ),
    Mutation(
        "a budget that shrank is not looked at before the evictions",
        "reprieve/scheduler/execution/last_look.py",
        "    if _exceeds_more(",
        "    if False and _exceeds_more(",
        WHOLE,
    ),
    Mutation(
        "a lost wake-up: a group waits for what helps its first pod, and for nothing else",
        "reprieve/placement/place.py",
        "        codes.update(rejection.reason.code for rejection in found.rejections)\n",
        "        codes = codes or {rejection.reason.code for rejection in found.rejections}\n",
        (*PYTEST, "-k", "every_member", str(UNIT / "placement/test_gang_search.py")),
    ),
    Mutation(
        "a lost wake-up: a node that gets the label of a topology late",
        "reprieve/scheduler/demands/queueing_hints.py",
        "    Code.OUTSIDE_DOMAIN: _NEW_NODE | {Change.NODE_LABELS, Change.POD_LEFT},\n",
        "    Code.OUTSIDE_DOMAIN: _NEW_NODE,\n",
        WAKING,
    ),
    # Clean-up steps: each of them, left out, leaves something in the ledger that nothing will ever end.
    Mutation(
        "a nomination that stays for ever: a failed bind does not clear it",
        "reprieve/scheduler/events/binding.py",
        "    state.ledger.nominations.linger(pod)\n",
        "",
        unit("test_ways_back.py::test_a_nomination_that_a_failed_bind_did_not_clear_is_withdrawn_later"),
    ),
    Mutation(
        "a nomination that outlives the place: its pod goes elsewhere",
        "reprieve/scheduler/events/binding.py",
        "    unreserve(state.ledger.nominations, state.queue, [assumed.pod], context.requester.key, now)\n",
        "",
        unit("test_core_groups.py::test_one_member_may_find_another_place_while_room_is_made_for_all"),
    ),
    Mutation(
        "a nomination that outlives its plan",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        "    unreserve(ledger.nominations, queue, [nomination.pod for nomination in waiting], key, now)\n",
        "",
        unit("test_core_groups.py::test_a_group_may_be_deleted_while_its_plan_runs"),
    ),
    Mutation(
        "a nomination that outlives its pod",
        "reprieve/scheduler/events/enqueueing.py",
        "    unreserve(state.ledger.nominations, state.queue, [pod], key, now)\n",
        "",
        unit("ledger/test_victims.py"),
    ),
    Mutation(
        "a nomination whose demand is another one now",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        "        nominations.move(pod)\n",
        "        pass\n",
        unit(
            "test_core_groups.py::test_a_pod_that_changes_its_group_keeps_its_room_until_the_other_group_is_decided"
        ),
    ),
    Mutation(
        "a nomination to a node that is gone",
        "reprieve/scheduler/core.py",
        "                plan_driver.on_node_lost(state, target.name, now)\n",
        "",
        unit("test_core_preemption.py::test_a_vanished_node_frees_what_waits_for_it"),
    ),
    Mutation(
        "a nomination that is cleared, and swept for ever",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        "            nominations.on_cleared(pod)\n",
        "            pass\n",
        unit("test_preemption_backoff.py::test_room_that_is_free_it_may_have_at_once"),
    ),
    Mutation(
        "a promise that outlives the sight of its pod",
        "reprieve/scheduler/events/enqueueing.py",
        "    surprising = settle_promise(state.ledger, state.world, state.queue, pod, now) is None\n",
        "    surprising = pod not in state.ledger.assumed\n",
        unit("test_binding.py"),
    ),
    Mutation(
        "a volume step that outlives its promise",
        "reprieve/scheduler/ledger/assumed.py",
        "        if assumed is not None:\n            self._release(assumed)\n        return assumed\n",
        "        return assumed\n",
        unit("test_volume_steps.py"),
    ),
    Mutation(
        "a pod that is served after it is bound",
        "reprieve/scheduler/events/enqueueing.py",
        "    state.ledger.parts.leave(pod)\n",
        "",
        unit("test_binding.py"),
    ),
    Mutation(
        "a plan that outlives its demand",
        "reprieve/scheduler/events/enqueueing.py",
        "        call_off(state, key, reason_not_to_wait(state.demands, state.world, key, found), now)\n",
        "",
        unit("test_core_groups.py::test_a_group_may_be_deleted_while_its_plan_runs"),
    ),
    Mutation(
        "a pod that terminates after it is gone",
        "reprieve/scheduler/execution/plan_driver.py",
        "    state.ledger.terminating.end(target)\n    unit_driver",
        "    unit_driver",
        unit("test_core_victims.py"),
    ),
    Mutation(
        "a victim that a namesake has replaced is waited for",
        "reprieve/scheduler/core.py",
        "                    self._on_gone(replaced, now)\n",
        "                    pass\n",
        unit("test_core_victims.py::test_a_namesake_of_a_victim_is_another_pod"),
    ),
    Mutation(
        "a victim that has finished is waited for",
        "reprieve/scheduler/events/enqueueing.py",
        "            on_gone(state, target, now)\n",
        "",
        unit("test_core_victims.py::test_a_victim_that_finishes_is_waited_for_no_longer"),
    ),
    Mutation(
        "a victim that stays terminating: its eviction was refused",
        "reprieve/scheduler/execution/plan_driver.py",
        "        count_as_staying(state.units, effect.target)\n        state.preemption_backoff",
        "        state.preemption_backoff",
        unit("test_whole_units.py"),
    ),
    Mutation(
        "a victim that lost its place is evicted all the same",
        "reprieve/scheduler/events/binding.py",
        "    _spare_from_eviction(state, pod, now)\n",
        "",
        unit("test_core_victims.py::test_a_victim_whose_bind_failed_stays_when_the_others_are_evicted"),
    ),
    Mutation(
        "a refusal that outlives what the ledger gave up",
        "reprieve/scheduler/queue/equivalence.py",
        "            or before.ledger != stamp.ledger\n",
        "",
        unit("test_remembered_refusals.py"),
    ),
    Mutation(
        "a gang that is told of the pods of another",
        "reprieve/scheduler/queue/equivalence.py",
        "            text = naming_another_pod(eviction.because.text, old, new)\n",
        "            text = eviction.because.text\n",
        unit("test_remembered_refusals.py"),
    ),
    Mutation(
        "a call in flight that is forgotten with its plan",
        "reprieve/scheduler/plans/open_plans.py",
        "            self._victims.stray(handover.pending)\n",
        "            pass\n",
        unit("ledger/test_victims.py"),
    ),
    Mutation(
        "a stray call that is answered, and waited for again",
        "reprieve/scheduler/plans/open_plans.py",
        "            self._victims.forget(effect)\n            return None\n",
        "            return None\n",
        unit("ledger/test_victims.py"),
    ),
    Mutation(
        "a mark that outlives its pod",
        "reprieve/scheduler/execution/plan_driver.py",
        "    state.ledger.victims.on_gone(target)\n",
        "",
        unit("ledger/test_victims.py"),
    ),
    Mutation(
        "a budget that waits for a pod that is gone",
        "reprieve/scheduler/mirror/world.py",
        "        changes |= self._has_left(compiled.pod)\n",
        "",
        unit("ledger/test_budget_lag.py"),
    ),
    Mutation(
        "a budget that is gone, and still to count",
        "reprieve/scheduler/mirror/world.py",
        "                if kind is PodDisruptionBudget:\n"
        "                    self._budget_lag.on_shown(key)\n",
        "",
        unit("ledger/test_budget_lag.py::test_a_budget_that_is_gone_counts_nothing_any_more"),
    ),
    Mutation(
        "a wait for a better plan that outlives its demand",
        "reprieve/scheduler/execution/plan_driver.py",
        "    state.improvements.end(key)\n",
        "",
        IMPROVING,
    ),
    Mutation(
        "a reservation that was never written is cleared in the cluster",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        "in waiting if nomination.reason is not NominationReason.FIRST_PLAN)",
        "in waiting)",
        IMPROVING,
    ),
    Mutation(
        "a first plan keeps its room on a node that is gone",
        "reprieve/scheduler/execution/plan_driver.py",
        "        state.ledger.nominations.withdraw(pod)\n",
        "        pass\n",
        IMPROVING,
    ),
    Mutation(
        "a better plan that nothing waits for any more until patience ends",
        "reprieve/scheduler/core.py",
        "                if key is not None:\n                    state.queue.again(key, now.elapsed)\n",
        "",
        IMPROVING,
    ),
    Mutation(
        "patience that never ends",
        "reprieve/scheduler/deciding/deciding.py",
        "    state.improvements.begin(requester.key, improving)\n"
        "    state.queue.expect("
        "requester.key, NO_CHANGES, Due(improving.next_time(now.elapsed)), now.elapsed)\n",
        "    state.improvements.begin(requester.key, improving)\n",
        IMPROVING,
    ),
    Mutation(
        "a proof that is claimed for a room that has changed",
        "reprieve/preemption/least_disturbance/deferral.py",
        "if one.model == room.fingerprint)",
        "if one.model)",
        IMPROVING,
    ),
    Mutation(
        "a member takes an unwritten reservation along to another demand",
        "reprieve/scheduler/execution/nomination_withdrawal.py",
        "        unreserve(nominations, queue, [pod], left, now)\n",
        "        nominations.move(pod)\n",
        IMPROVING,
    ),
    Mutation(
        "a better plan is asked for again and again",
        "reprieve/scheduler/deciding/deciding.py",
        "    if deferral.asked and improving is None:\n",
        "    if deferral.asked:\n",
        IMPROVING,
    ),
    Mutation(
        "the highest priority of victims becomes the sum of their priorities",
        "reprieve/preemption/criteria.py",
        "            return float(alone.max()) if len(alone) else -math.inf\n",
        "            return float(alone.sum()) if len(alone) else -math.inf\n",
        CRITERIA,
    ),
    Mutation(
        "a plan that holds although more pods are needed than when it was made",
        "reprieve/scheduler/planning/plan_feasibility.py",
        "    if not context.demand.is_met_by(nodes):\n",
        "    if False:\n",
        unit("test_planning.py"),
    ),
    Mutation(
        "a plan that holds although its tree would be in two domains",
        "reprieve/scheduler/planning/plan_feasibility.py",
        "    if tree is not None and not tree.keeps_domains(view, nodes):\n",
        "    if False:\n",
        unit("test_planning.py"),
    ),
    Mutation(
        "a plan that holds although its node is gone, or a pod of it waits no more",
        "reprieve/scheduler/planning/plan_feasibility.py",
        "return False  # it was made for a pod that does not wait any more, or for a node that is gone",
        "return True",
        unit("test_planning.py"),
    ),
    Mutation(
        "a plan that holds although there is no room where it puts its pods",
        "reprieve/scheduler/planning/plan_feasibility.py",
        "    return holds(context.demand, placement, view, context.profile)\n",
        "    return True\n",
        unit("test_planning.py"),
    ),
    Mutation(
        "an eviction limit whose end wakes no demand",
        "reprieve/preemption/eligibility.py",
        "    return Verdict(until <= now, until, (pods,), advise)\n",
        "    return Verdict(until <= now)\n",
        LIMITS,
    ),
    Mutation(
        "evictions that are not counted when they are sent",
        "reprieve/scheduler/execution/plan_driver.py",
        "    eviction_counting.count_sent(state.evictions, state.world, deletes, handover, now)\n",
        "",
        LIMITS,
    ),
    Mutation(
        "an eviction that was refused, and wakes no demand that the limit held back",
        "reprieve/scheduler/execution/eviction_counting.py",
        "        queue.wake_all((Change.EVICTIONS,), now.elapsed)\n",
        "        pass\n",
        unit("test_eviction_counting.py"),
    ),
)


@dataclass(frozen=True, slots=True)
class Hunt:
    found: bool
    last_words: str


def hunt(mutation: Mutation) -> Hunt:
    """Looks for one mistake in a copy of the source, in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        _mutate(Path(directory) / "src", mutation)
        process = _forking().Process(target=_look, args=(mutation.found_by, Path(directory)))
        process.start()
        process.join(_MOST_SECONDS)
        ended, told = process.exitcode, (Path(directory) / _TOLD).read_text()
        process.kill()
        process.join(_MOST_SECONDS)
        process.close()
    lines = [line for line in told.splitlines() if line]
    return Hunt(ended != 0, next((line for line in reversed(lines) if "Error" in line), ""))


def _forking() -> ForkServerContext:
    """Forks a process that has loaded what every hunt needs, and nothing of the source."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["hypothesis", "msgspec", "numpy", "pytest", "yaml"])
    return context


def _look(arguments: tuple[str, ...], directory: Path) -> None:
    """What python does with these arguments, in the process that was forked."""
    with (directory / _TOLD).open("w") as told:
        os.dup2(told.fileno(), sys.stdout.fileno())
        os.dup2(told.fileno(), sys.stderr.fileno())
    os.chdir(directory)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # pytest does not accept that hypothesis is loaded
    sys.dont_write_bytecode = True  # a mistake is not written to the bytecode of the source
    sys.path[:0] = [str(directory / "src"), str(ROOT)]
    _, module, *sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _mutate(tree: Path, mutation: Mutation) -> None:
    """All but the changed file are links, so that Python finds the bytecode of the source beside them."""
    text, file = mutation.original(), Path(mutation.file)
    if text.count(mutation.old) != 1:
        raise LookupError(f"{mutation.file} does not have once what {mutation.name!r} is about")
    for folder in reversed(file.parents[:-1]):
        (tree / folder).mkdir(parents=True)
        for entry in (mutation.source / folder).iterdir():
            if not file.is_relative_to(entry.relative_to(mutation.source)):
                (tree / folder / entry.name).symlink_to(entry)
    (tree / file).write_text(text.replace(mutation.old, mutation.new))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations", description=__doc__)
    parser.add_argument("name", nargs="?", default="")
    name = parser.parse_args().name
    for mutation in (m for m in MUTATIONS if name in m.name):
        result = hunt(mutation)
        print(f"{mutation.name}: {result.last_words if result.found else 'NOT FOUND'}", flush=True)


if __name__ == "__main__":
    main()
