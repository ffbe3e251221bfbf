"""What must hold after every step between all that the scheduler remembers: `validate` raises if it does not.

Each rule reads the parts and compares them; none changes anything. The rules walk over all pods. Tests,
scenarios and simulations ask for them after every event and every decision: a clean-up that is forgotten
breaks a rule here at once, and not a decision hours later.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from reprieve.model.effects import Evict, Nominate, SetCondition, Target
from reprieve.model.objects import Pod
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.assumed import Assumed, Promise
from reprieve.scheduler.ledger.nominations import Nomination, NominationReason
from reprieve.scheduler.ledger.unit_evictions import DeleteState
from reprieve.scheduler.mirror.pod_rows import pod_key
from reprieve.scheduler.plans.handover import Handover, is_marked, mark
from reprieve.scheduler.queue.improvements import Improving
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target, rows_of, target_at


class BrokenRuleError(AssertionError):
    """Names the object, and the rule that does not hold for it."""


class Broken(NamedTuple):
    subject: object  # the pod, the demand or the call that it is about
    rule: str


Rule = Callable[[State], Iterator[Broken]]


def validate(scheduler: Scheduler) -> None:
    """Raises an error that names the pod and the rule if what is remembered contradicts itself."""
    for rule in RULES:
        for broken in rule(scheduler._state):
            raise BrokenRuleError(f"{broken.subject}: {broken.rule}")


# --- assumed pods ----------------------------------------------------------------------------------------


def _assumed_pods_wait_to_be_seen(state: State) -> Iterator[Broken]:
    for assumed in state.ledger.assumed:
        pod = _known(state, assumed.pod)
        if pod is None:
            yield Broken(assumed.pod, "it is assumed on a node, and not known")
        elif pod.spec.node_name:
            yield Broken(assumed.pod, "it is shown on a node, and still assumed")
        elif assumed.pod not in state.ledger.parts:
            yield Broken(assumed.pod, "it is assumed on a node, and part of no demand")
        elif assumed.pod in state.ledger.nominations:
            yield Broken(assumed.pod, "it is both assumed on a node and nominated to one")


def _pods_count_where_they_are_shown_or_assumed(state: State) -> Iterator[Broken]:
    for pod in state.world.pods():
        node = pod.spec.node_name or state.ledger.assumed.node_of(pod_target(pod))
        counted = state.world.node_of(pod_key(pod))
        if counted != (node if state.world.has_node(node) else ""):
            yield Broken(
                pod_target(pod), f"it counts on node {counted!r}, and is shown or assumed on {node!r}"
            )


def _volume_steps_belong_to_promises(state: State) -> Iterator[Broken]:
    promised = {step for assumed in state.ledger.assumed for step in assumed.steps}
    for step in state.ledger.assumed.steps().values():
        if step not in promised:
            yield Broken(step.target, "a volume step is under way for it, and no promise needs that")
    for assumed in state.ledger.assumed:
        if not all(map(state.ledger.assumed.needs, assumed.steps)):
            yield Broken(assumed.pod, "it waits for a volume step that does not count as under way")
        if not {*assumed.acknowledged, *assumed.shown} <= {*assumed.steps}:
            yield Broken(assumed.pod, "a volume step was answered or shown that it does not wait for")
        yield from _is_in_its_state(assumed)


def _is_in_its_state(assumed: Assumed) -> Iterator[Broken]:
    if assumed.state is Promise.PREPARING and (assumed.due is None or not assumed.steps):
        yield Broken(assumed.pod, "its volumes are being prepared without steps or without an end")
    if assumed.state is Promise.SENT and assumed.due is not None:
        yield Broken(assumed.pod, "its bind was sent, and a time is left at which its volumes would be late")


# --- demands and nominations -----------------------------------------------------------------------------


def _pods_to_serve_are_known_and_remembered(state: State) -> Iterator[Broken]:
    parts = state.ledger.parts
    members = {demand: parts.pods(demand) for demand in parts.demands()}
    in_line = {demand for demand in members if _is_in_line(state, demand)}
    for pod, demand in parts:
        if _known(state, pod) is None:
            yield Broken(pod, f"it is part of {demand}, and not known")
        elif pod not in members[demand]:
            yield Broken(pod, f"it is part of {demand}, which does not know it")
        elif demand not in in_line and pod not in state.ledger.assumed:
            yield Broken(pod, f"it waits, and nothing will look at {demand}: {state.queue.standing(demand)}")
    for pod in state.demands.faults:
        if pod not in parts:
            yield Broken(pod, "its fault is remembered, and it is part of no demand")
    for demand in state.queue:
        if not parts.has(demand):
            yield Broken(demand, "it is in the queue, and no pod is part of it")


def _is_in_line(state: State, demand: DemandKey) -> bool:
    return state.queue.standing(demand) not in (None, Standing.DECIDING)


def _nominated_pods_wait_for_a_reason(state: State) -> Iterator[Broken]:
    for nomination in state.ledger.nominations:
        pod, demand = _known(state, nomination.pod), state.ledger.parts.get(nomination.pod)
        if pod is None or pod.spec.node_name:
            yield Broken(nomination.pod, "it is nominated to a node, and does not wait")
        elif demand is None or demand not in state.queue:
            yield Broken(nomination.pod, "it is nominated to a node, and part of no demand in the queue")
        elif nomination.reason is NominationReason.PLAN and not _makes_room(
            state.plans.of(demand), nomination
        ):
            yield Broken(nomination.pod, f"it is nominated to {nomination.node}, and no plan makes that room")
        elif nomination.reason is NominationReason.FIRST_PLAN and not _waits_for(
            state.improvements.of(demand), nomination
        ):
            yield Broken(
                nomination.pod, f"{nomination.node} is reserved, and no first plan is being improved"
            )
        elif nomination.reason is not NominationReason.SHOWN and not state.world.has_node(nomination.node):
            yield Broken(nomination.pod, f"it is nominated to {nomination.node}, which is gone")
        elif nomination not in state.ledger.nominations.on(nomination.node):
            yield Broken(nomination.pod, f"it is nominated to {nomination.node}, which does not know it")


def _makes_room(plan: Handover | None, nomination: Nomination) -> bool:
    return plan is not None and (nomination.pod, nomination.node) in plan.places


def _waits_for(improving: Improving | None, nomination: Nomination) -> bool:
    return improving is not None and (nomination.pod, nomination.node) in improving.places


def _first_plans_wait_in_the_queue(state: State) -> Iterator[Broken]:
    for demand, improving in state.improvements:
        standing = state.queue.standing(demand)
        if standing is None:
            yield Broken(demand, "its first plan is being improved, and it is not in the queue")
        elif state.plans.of(demand) is not None:
            yield Broken(demand, "its first plan is being improved, and another is carried out")
        elif standing is Standing.HELD or (standing is Standing.GATED and state.synced):
            yield Broken(demand, f"it is {standing}, and nothing ends the improvement {improving.id}")


def _lingering_nominations_are_of_known_pods(state: State) -> Iterator[Broken]:
    for pod in state.ledger.nominations.lingering:
        if _known(state, pod) is None:
            yield Broken(pod, "a nomination lingers on it, and it is not known")


# --- plans and victims -----------------------------------------------------------------------------------


def _plans_are_carried_out_for_demands(state: State) -> Iterator[Broken]:
    for demand, plan in state.plans:
        standing = state.queue.standing(demand)
        if standing is None:
            yield Broken(demand, "it has a plan, and is not in the queue")
        if (standing is Standing.HELD) != plan.is_settling:
            yield Broken(demand, f"it is {standing} while its plan is {plan.stage}")
        if bool(plan.pending) != plan.is_settling:
            yield Broken(demand, f"its plan is {plan.stage} and waits for {len(plan.pending)} calls")
        for pod, node in plan.places if plan.nominates else ():
            nomination = state.ledger.nominations.of(pod)
            moved = state.ledger.parts.get(pod) != demand
            if not moved and (nomination is None or nomination.node != node):
                yield Broken(pod, f"a plan makes room for it on {node}, and it is not nominated there")


def _plans_are_found_by_what_they_are(state: State) -> Iterator[Broken]:
    for demand in state.plans.misfiled():
        yield Broken(
            demand, "its plan is not found by its calls, victims or nodes, or others are needed gone"
        )
    unused = state.ledger.victims.marked - state.plans.needed()
    for target in sorted(unused ^ state.plans.unused_marks()):
        yield Broken(target, f"its mark is unused: {target in unused}; the ledger says otherwise")


def _columns_show_the_ledger(state: State) -> Iterator[Broken]:
    view = state.world.snapshot()
    for columns, pods, what in (
        (state.columns.in_flight(state.world), state.plans.victims_in_flight(), "a victim in flight"),
        (state.columns.charged(state.world), charged_victims(state), "charged to budgets"),
    ):
        for row in set(columns.tolist()) ^ set(rows_of(view, pods)):
            yield Broken(target_at(view, row), f"it is {what}, or its column says so, and not both")
    known = ((one, view.nodes.rows.get(one.node)) for one in state.ledger.nominations)
    reserved = [(*rows_of(view, (one.pod,)), node) for one, node in known if node is not None]
    room = state.columns.reserved(state.world)
    if reserved != [*zip(room.pods.tolist(), room.nodes.tolist(), strict=True)]:
        yield Broken(state.ledger.nominations, f"they reserve {reserved}, and their columns say otherwise")


def charged_victims(state: State) -> set[Target]:
    """Pods whose eviction budgets are charged with: chosen by a plan, or part of a unit that goes."""
    return {*state.plans.victims(), *state.ledger.unit_evictions.pods}


def _victims_are_of_plans(state: State) -> Iterator[Broken]:
    for call in state.ledger.victims.strays:
        if not isinstance(call, Nominate | SetCondition | Evict):
            yield Broken(call.target, f"no plan makes the call {call}, whose answer is waited for")
    for _, plan in state.plans:
        for call in plan.pending:
            if isinstance(call, Evict) and call.target not in state.ledger.terminating:
                yield Broken(call.target, "its eviction is in flight, and it does not count as terminating")


def _units_are_finished(state: State) -> Iterator[Broken]:
    """No pod of a unit of which one was deleted is forgotten: each is leaving, or a call is on its way."""
    units = state.ledger.unit_evictions
    if units.pods.all != {one.pod for one in units} or not all(units.has_group(one.group) for one in units):
        yield Broken(units, "its pods are not found by themselves, or by their groups")
    for one in units:
        if _known(state, one.pod) is None:
            yield Broken(one.pod, f"it is to be evicted with {one.unit}, and not known")
        elif one.state is DeleteState.SENT and one.pod not in state.ledger.terminating:
            yield Broken(one.pod, f"it is evicted with {one.unit}, and does not count as terminating")
        elif one.state is DeleteState.REFUSED and not state.ledger.unit_evictions.is_due(one.pod):
            yield Broken(one.pod, f"its eviction with {one.unit} was refused, and is not tried again")
        elif one.state is DeleteState.REFUSED and _counts_as_terminating(state, one.pod):
            yield Broken(one.pod, f"its eviction with {one.unit} was refused, and it counts as terminating")
        elif one.state is DeleteState.MARKING and not state.plans.expects(mark(one.pod, one.mark)):
            yield Broken(one.pod, f"it joined {one.unit}, which is evicted, and nothing marks it")


def _open_marks_are_closed(state: State) -> Iterator[Broken]:
    """No group is kept from starting by a write that is not on its way."""
    for one in state.ledger.open_marks:
        call = mark(one.group, one.text)
        if one.is_in_flight and not state.plans.expects(call):
            yield Broken(one.group, f"the mark of {one.unit} is open, and nothing closes it")


def _counts_as_terminating(state: State, target: Target) -> bool:
    """Whether a pod counts as terminating that is not shown so, and that no call in flight deletes."""
    pod = _known(state, target)
    is_shown = pod is not None and pod.metadata.deletion_timestamp is not None
    return target in state.ledger.terminating and not is_shown and not state.plans.expects(Evict(target))


def _marks_are_those_that_are_shown(state: State) -> Iterator[Broken]:
    shown = {pod_target(pod) for pod in state.world.pods() if is_marked(pod)}
    remembered = state.ledger.victims.marked
    for target in sorted(shown - remembered):
        yield Broken(target, "it shows a mark: True; the ledger says otherwise")
    for target in sorted(remembered - shown):
        if target.kind == "Pod" and _known(state, target) is None:
            yield Broken(target, "its mark is remembered, and it is not known")
        elif target.kind == "Pod":
            yield Broken(target, "it shows a mark: False; the ledger says otherwise")
        group = state.world.groups.group((target.namespace, target.name))
        if target.kind != "Pod" and (group is None or group.metadata.uid != target.uid):
            yield Broken(target, "its mark is remembered, and it is not known")


# --- pods that leave -------------------------------------------------------------------------------------


def _terminating_pods_are_known(state: State) -> Iterator[Broken]:
    for target in state.ledger.terminating.under_way:
        if _known(state, target) is None:
            yield Broken(target, "it counts as terminating, and is not known")
    for pod in state.world.pods():
        if pod.metadata.deletion_timestamp is not None and pod_target(pod) not in state.ledger.terminating:
            yield Broken(pod_target(pod), "it is being deleted, and does not count as terminating")


def _budgets_wait_for_pods_that_leave(state: State) -> Iterator[Broken]:
    for budget, target in state.ledger.budget_lag:
        pod, name = _known(state, target), "/".join(budget)
        if pod is None or pod.metadata.deletion_timestamp is None:
            yield Broken(target, f"budget {name} has yet to count it, and it is not leaving")
        elif not state.world.has_budget(budget):
            yield Broken(target, f"budget {name} has yet to count it, and is gone")


def _known(state: State, target: Target) -> Pod | None:
    """The pod as it was last shown; None if it is gone, or if a namesake has taken its place."""
    known = state.world.pod((target.namespace, target.name))
    return known.pod if known is not None and known.pod.metadata.uid == target.uid else None


RULES: tuple[Rule, ...] = (
    _assumed_pods_wait_to_be_seen,
    _pods_count_where_they_are_shown_or_assumed,
    _volume_steps_belong_to_promises,
    _pods_to_serve_are_known_and_remembered,
    _nominated_pods_wait_for_a_reason,
    _first_plans_wait_in_the_queue,
    _lingering_nominations_are_of_known_pods,
    _plans_are_carried_out_for_demands,
    _plans_are_found_by_what_they_are,
    _columns_show_the_ledger,
    _victims_are_of_plans,
    _units_are_finished,
    _open_marks_are_closed,
    _marks_are_those_that_are_shown,
    _terminating_pods_are_known,
    _budgets_wait_for_pods_that_leave,
)
