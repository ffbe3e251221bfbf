"""Every state that a handover can get into, breadth first, with the real scheduler.

A few victims run on a node, and a more important pod needs all of it. Until the plan has an end, each call
ends in each way there is, pods vanish at any time, the preemptor may be deleted, a still higher one may
come, and the scheduler may die. Then what is under way ends well, and all comes to rest. States that differ
only in names and times count once.

The victims may be a group that goes as a whole: then another member may join at any time, on another node,
and the group must not be left in part. Or a member is created that has no node yet: it must not start before
all others are gone, and is not evicted after that.

Or the preemptor is a gang whose first plan is improved: the solver answers, late or in time, or it dies, and
all else may happen before. Nothing is written meanwhile.

A group of one has tens of thousands, and with each victim there are ten times as many. So the walk may be
bounded by the number of mishaps: things that happen and need not, each of them at any time. From each state
that is found what is sure to happen is followed to the end.

`python -m tests.simulation.reachable VICTIMS [--whole | --replaced | --improved] [--mishaps MOST]` says how
many there are.
"""

import argparse
import io
import pickle
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_key, a_node, a_pod
from tests.unit.scheduler.serving import Served, served

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Change, Done, Event, Failed, PlanImproved, Unknown
from reprieve.model.groups import group_key
from reprieve.model.objects import KubernetesObject, Node, Pod, PodGroup
from reprieve.model.shape import CompiledPod, Shape
from reprieve.placement.rejection_codes import Reason
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan, answer_of, message_of, solved
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.ledger.assumed import Assumed
from reprieve.scheduler.ledger.nominations import Nomination
from reprieve.scheduler.ledger.open_marks import OpenMark
from reprieve.scheduler.ledger.unit_evictions import UnitPod
from reprieve.scheduler.plans.handover import (
    _OPEN,
    Handover,
    decision_in,
    is_marked,
    is_open,
    shown_mark,
    shows_called_off,
)
from reprieve.scheduler.plans.handover import Stage as Step
from reprieve.scheduler.plans.plan_records import Preemptor, StageReached, VictimsJudged
from reprieve.scheduler.queue.improvements import Improving
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.reporting.decision import Finding, Victim
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.state import State
from tests.simulation.invariants import BrokenInvariantError, hold
from tests.simulation.scenario import USUAL

NEW, HIGH, LATE, NEXT, GROUP = "new", "high", "late", "next", "g"
KEYS = tuple(map(a_key, (NEW, HIGH)))
GANG = {"new-0": "3", "new-1": "1"}  # its members, and their cpu
SURE = ("done", "drained", "time")
ONCE = ("higher", "restart", "join", "replace")
_MANY = 2  # victims
_SOON = 31.0  # seconds; whatever is put right by itself is put right by then

Column = np.ndarray[Any, Any]
Way = tuple[str, str]  # what happens, and to what


@dataclass(frozen=True, slots=True)
class Scene:
    """A scheduler, what the API server holds, and calls that are under way."""

    cluster: Served
    victims: int
    plan: str = ""  # the one whose life is followed
    spent: frozenset[str] = frozenset()  # what happens only once, and has
    whole: bool = False  # the victims are one group
    replaced: bool = False  # and a member is created that has no node, instead of one that has
    begun: frozenset[str] = frozenset()  # its pods that ran when the first of them was deleted
    restarted: bool = False  # the new member has its node since they are gone
    improved: bool = False  # the preemptor is a gang, and its first plan is improved

    @property
    def state(self) -> State:
        return self.cluster.stage.scheduler._state

    @property
    def demands(self) -> dict[str, DemandKey]:
        """Of the pods that evict others."""
        if not self.improved:
            return dict(zip((NEW, HIGH), KEYS, strict=True))
        return {**dict.fromkeys(GANG, DemandKey.of_group(("default", NEW))), HIGH: KEYS[1]}

    @property
    def improving(self) -> Improving | None:
        """The first plan that waits."""
        return self.state.improvements.of(DemandKey.of_group(("default", NEW)))

    @property
    def calls(self) -> list[Effect]:
        """Of those on one object, the first."""
        return list({effect.target: effect for effect in reversed(self.cluster.stage.wanted)}.values())

    @property
    def is_evicting(self) -> bool:
        """Whether the eviction of the group has begun, and is not over."""
        return bool(len(self.state.ledger.unit_evictions) or len(self.state.ledger.open_marks))

    @property
    def is_small(self) -> bool:
        return self.victims + self.whole < _MANY

    @property
    def is_due(self) -> bool:
        at = self.cluster.stage.next_time()
        return at is not None and at - self.cluster.stage.now <= _SOON

    @property
    def is_at_rest(self) -> bool:
        leaving = any(pod.metadata.deletion_timestamp for pod in self.cluster.pods())
        return not (self.cluster.stage.wanted or leaving or self.is_due)


def beginning(victims: int, *, whole: bool = False, replaced: bool = False, improved: bool = False) -> Scene:
    if improved:
        return _to_be_improved()
    make = partial(a_member, group=GROUP) if whole else a_pod
    old = [make(f"v{i}", cpu="1", on="n1") for i in range(victims)]
    new = a_pod(NEW, cpu=str(victims), priority=9)
    more: list[KubernetesObject] = (
        [a_group(GROUP, disruptedWhole=True), a_node("n2", unschedulable=True, labels={"host": "n2"})]
        if whole
        else []
    )
    cluster = served(a_node("n1", cpu=str(victims)), *more, *old, new, settings=USUAL)
    scene = Scene(cluster, victims, whole=whole, replaced=replaced)
    return _told(replace(scene, plan=_plan_in(scene)))


def _to_be_improved() -> Scene:
    """There is room for the gang on one node, and the first plan takes both."""
    nodes = a_node("n0", cpu="2"), a_node("n1", cpu="4")
    old = a_pod("v0", cpu="2", on="n0"), a_pod("v1", cpu="4", on="n1", priority=1)
    gang = (a_member(name, NEW, cpu=cpu, priority=9) for name, cpu in GANG.items())
    cluster = served(*nodes, *old, a_group(NEW, 9, len(GANG)), *gang, settings=USUAL)
    return _told(Scene(cluster, len(old), improved=True))


def _plan_in(scene: Scene) -> str:
    plan = scene.state.plans.of(next(iter(scene.demands.values())))
    return plan.id if plan is not None and plan.is_open else ""


def _is_step(effect: Effect) -> bool:
    """Whether it belongs to a plan or a bind; the rest is only told, and always arrives."""
    mark = isinstance(effect, SetCondition) and effect.type == MARK
    return mark or isinstance(effect, Nominate | Evict | Bind)


def _told(scene: Scene) -> Scene:
    stage = scene.cluster.stage
    while told := [effect for effect in stage.wanted if not _is_step(effect)]:
        stage.wanted = list(filter(_is_step, stage.wanted))
        stage.happens(*map(Done, told))
    return scene


# --- what can happen -----------------------------------------------------------------------------


def ways(scene: Scene) -> Iterator[Way]:
    """After the end of the plan, and of the group that it evicts, one thing after the other."""
    is_under_way = scene.plan or scene.is_evicting or scene.improving
    return chain(_sure_ways(scene), _other_ways(scene)) if is_under_way else islice(_sure_ways(scene), 1)


def distinct_ways(scene: Scene) -> list[Way]:
    """One of those that lead to the same state: what happens to one of two victims that are alike."""
    alike: dict[Hashable, Way] = {}
    calls = {repr(call): call for call in scene.calls}
    victims = {pod.name: pod for pod in _victims(scene)}
    for what, whom in ways(scene):
        call = calls.get(whom)
        name = whom if call is None else call.target.name
        role = _of_victim(scene, victims[name]) if name in victims else name
        alike.setdefault((what, _word(call) if call is not None else "", role), (what, whom))
    return list(alike.values())


def _sure_ways(scene: Scene) -> Iterator[Way]:
    """What happens in the end if nothing else does."""
    yield from (("done", repr(call)) for call in scene.calls)
    for pod in scene.cluster.pods():
        if pod.metadata.deletion_timestamp:
            yield "drained", pod.metadata.name
    if scene.is_due and not scene.calls:  # no call takes long
        yield "time", ""


def _other_ways(scene: Scene) -> Iterator[Way]:
    for call in scene.calls:
        if call.target in scene.cluster.objects:
            unit = scene.state.ledger.unit_evictions.of(call.target)
            if unit is None or not unit.refusals:  # what is tried again succeeds one day
                yield "failed", repr(call)
            if not scene.whole:  # there, it is like an answer that is lost; otherwise too many states
                yield "seen", repr(call)
            # With several victims one answer is lost at a time: more would be too many states.
            if scene.is_small or not scene.state.resend_backoff._times:
                yield from ((end, repr(call)) for end in ("lost, done", "lost, not done"))
    for pod in scene.cluster.pods():
        if not pod.metadata.deletion_timestamp and pod.metadata.name != NEXT:
            yield from ((end, pod.metadata.name) for end in ("vanished", "terminated"))
    comes = "replace" if scene.replaced else "join"
    possible = ("restart", comes) if scene.whole else ("higher", "restart")
    yield from ((once, "") for once in possible if once not in scene.spent)
    for request in scene.cluster.stage.asked:
        yield from ((end, request.id) for end in ("answered", "solver died"))
    if scene.improving and scene.calls:
        yield "late", ""


def followed(scene: Scene, way: Way) -> Scene:
    """What comes of it; the scene that was is used up."""
    cluster, (what, whom) = scene.cluster, way
    match what:
        case "drained" | "vanished":
            cluster.gone(whom)
        case "terminated":
            cluster.deleted(whom)
        case "time" | "late":
            before = essence(scene)
            while scene.is_due and essence(scene) == before:  # a moment may pass without a trace
                cluster.stage.now = max(cluster.stage.now, cluster.stage.next_time() or 0.0)
                cluster.stage.happens()
                _told(scene)
        case "higher":
            cluster.show(a_pod(HIGH, cpu=str(scene.victims), priority=20))
        case "restart":
            cluster = cluster.restarted()
        case "join":
            cluster.show(a_member(LATE, GROUP, cpu="1", on="n2"))
        case "replace":
            anywhere = [{"operator": "Exists"}]
            selected = {"host": "n2"}
            cluster.show(a_member(NEXT, GROUP, cpu="1", nodeSelector=selected, tolerations=anywhere))
        case "answered" | "solver died":
            asked = cluster.stage.asked
            (request,) = (one for one in asked if one.id == whom)
            asked.remove(request)
            nothing = PlanImproved(request.demand, request.id)
            cluster.stage.happens(_answer(request) if what == "answered" else nothing)
        case _:
            (effect,) = (effect for effect in scene.calls if repr(effect) == whom)
            deletes = isinstance(effect, Evict) and effect.target in cluster.objects
            if deletes and what in ("done", "lost, done", "seen") and scene.whole:
                scene = replace(scene, begun=scene.begun or frozenset(_members(scene)))
            starts = isinstance(effect, Bind) and effect.target.name == NEXT and scene.begun
            is_victim = effect.target in scene.state.ledger.unit_evictions  # it was being bound before
            if starts and not is_victim and what in ("done", "lost, done"):
                scene = replace(scene, restarted=True)
            _end(cluster, effect, what)
    spent = scene.spent.union({what}.intersection(ONCE))
    following = replace(scene, cluster=cluster, spent=spent)
    plan = _plan_in(following)
    goes_on = what == "restart" or scene.improving or plan == scene.plan
    return _told(replace(following, plan=plan if goes_on else ""))


def _answer(request: ImprovePlan) -> PlanImproved:
    return answer_of(request, _solved(message_of(request)))


_solved = cache(solved)


def _end(cluster: Served, effect: Effect, end: str) -> None:
    """A sight may come before the answer; then the answer is still under way."""
    if end != "seen":
        cluster.stage.wanted.remove(effect)
    missing = effect.target not in cluster.objects and not isinstance(effect, Evict)
    events: dict[str, Event] = {
        "done": Failed(effect, "not found", missing=True) if missing else Done(effect),
        "failed": Failed(effect, "refused"),
        "lost, done": Unknown(effect, "no answer"),
        "lost, not done": Unknown(effect, "no answer"),
    }
    shown = cluster.applied(effect) if end in ("done", "lost, done", "seen") else []
    cluster.stage.happens(*([events[end]] if end in events else []), *shown)


def _members(scene: Scene) -> Iterator[str]:
    """Pods of the group that run, and are not leaving."""
    for pod in scene.cluster.pods():
        has_node = bool(pod.spec.node_name)
        if group_key(pod) is not None and has_node and pod.metadata.deletion_timestamp is None:
            yield pod.metadata.name


# --- what must hold ------------------------------------------------------------------------------


def check(scene: Scene) -> None:
    state = scene.state
    for pod in scene.cluster.pods():
        if pod.spec.node_name or pod.metadata.deletion_timestamp:
            continue
        in_line = state.queue.standing(state.demands.demand_of(pod)) not in (None, Standing.DECIDING)
        promised = _target(pod) in state.ledger.assumed
        # A group waits for as long as any of its pods does.
        sound = promised or in_line if scene.improved else in_line != promised
        hold(sound, f"{pod.metadata.name} is in line: {in_line}, promised a place: {promised}")
    for key, plan in state.plans:
        held = state.queue.standing(key) is Standing.HELD
        hold(held == plan.is_settling, f"{key.name} is {state.queue.standing(key)} in {plan.stage}")
        pending = [effect for effect in scene.cluster.stage.wanted if effect in plan.pending]
        later = [effect for effect in _put_aside(scene) if effect in plan.pending]
        made = len(pending) + len(later)
        hold(made >= len(plan.pending), f"{key[2]} waits for calls that are not made: {plan.pending}")
        for call in pending:
            shown = _shown(scene, call.target) if isinstance(call, Evict) else None
            hold(shown is None or shown.marked or shown.leaving, f"{call.target} is evicted, and not marked")
    check_records(scene)
    check_first_plan(scene)
    if scene.replaced:
        check_start(scene)


def check_first_plan(scene: Scene) -> None:
    """Nothing is written for a plan that is being improved; its room is reserved."""
    if scene.improving is None:
        return
    wanted = [call for call in scene.cluster.stage.wanted if isinstance(call, Nominate) and call.node]
    hold(not any(call.target.name in GANG for call in wanted), f"a plan is improved, and wants {wanted}")
    reserved = {(one.pod, one.node) for one in scene.state.ledger.nominations}
    left = {place for place in scene.improving.places if place[0] in scene.state.ledger.parts}
    hold(left <= reserved, f"of the room {scene.improving.places} only {reserved} is reserved")


def check_start(scene: Scene) -> None:
    """The group does not start beside its end, and what has started is left alone."""
    units, wanted = scene.state.ledger.unit_evictions, scene.cluster.stage.wanted
    calls = [call for call in wanted if call.target.name == NEXT and call.target in scene.cluster.objects]
    starts = any(isinstance(call, Bind) and call.target not in units for call in calls)
    left = scene.begun & {pod.metadata.name for pod in scene.cluster.pods()}
    hold(not starts or not left, f"{NEXT} starts, and {sorted(left)} are on their way")
    evicted = any(isinstance(call, Evict) for call in calls)
    hold(not evicted or not scene.restarted, f"{NEXT} is evicted, and has started after the eviction")


def check_records(scene: Scene) -> None:
    """The plan log agrees with the plans, and remembers no eviction for a demand that does not wait."""
    state, logged = scene.state, scene.state.plan_log._plans
    told = {key: plans[-1].stage for key, plans in logged.items() if plans[-1].is_open}
    known = {key: plan.stage for key, plan in state.plans}
    hold(told == known, f"plans are in {known}, and the log says {told}")
    waiting = set(state.ledger.parts.demands())
    hold(logged.keys() <= waiting, f"evictions are remembered for {logged.keys() - waiting}")
    judged = [record for record in scene.cluster.stage.records if isinstance(record, VictimsJudged)]
    for record in judged:
        names = GANG.keys() if record.demand.kind == "PodGroup" else {record.demand.name}
        nodes = {node for name, node in scene.cluster.places().items() if name in names}
        used = all(_room_of(scene, victim) in nodes for victim in record.used if victim.name not in GANG)
        wasted = not any(_room_of(scene, victim) in nodes for victim in record.wasted)
        hold(used and wasted, f"{record}, and its preemptor has {nodes}")


def _room_of(scene: Scene, victim: Target) -> str:
    """The node on which a victim ran; members of the gang, which may be victims in the end, ran on either."""
    return f"n{victim.name[1:]}" if scene.improved else "n1"


def check_rest(scene: Scene) -> None:
    """One ending, and nothing is left of the way there."""
    cluster, state, places = scene.cluster, scene.state, scene.cluster.places()
    there = {pod.metadata.name for pod in cluster.pods()}
    wanted = HIGH if HIGH in there else NEW
    if scene.improved:
        fits = there >= GANG.keys() and places.get(HIGH) != "n1"  # beside it there is too little room
        expected = {HIGH} & there | (GANG.keys() if fits else set())
        hold(expected <= places.keys(), f"not all of {expected} have a place: {places}")
    elif wanted in there:
        hold(places.get(wanted) == "n1", f"{wanted} has no place: {places}")
    waiting = {state.demands.demand_of(pod) for pod in cluster.pods() if not pod.spec.node_name}
    in_line = sorted(state.queue)
    hold(set(in_line) == waiting, f"in line are {in_line}")
    hold(scene.improving is None, f"a first plan waits: {scene.improving}")
    hold(NEXT not in there or places.get(NEXT) == "n2", f"{NEXT} has no place: {places}")
    ledger = state.ledger
    left = [*state.plans, *ledger.victims.strays, *ledger.assumed, *ledger.nominations]
    left += [*ledger.nominations.lingering, *state.resend_backoff._times]
    left += [*ledger.unit_evictions, *ledger.open_marks]
    hold(not scene.begun & there, f"of the group {sorted(scene.begun & there)} run on")
    hold(
        not left and not state.plans.victims_in_flight(),
        f"these are left: {left} {state.plans.victims_in_flight()}",
    )
    for pod in cluster.pods():
        marked = cluster.conditions(pod.metadata.name).get(MARK) == "True"
        hold(not marked, f"{pod.metadata.name} is still marked")
        hold(
            not pod.status.nominated_node_name or bool(pod.spec.node_name),
            f"{pod.metadata.name} is nominated",
        )


def _target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


# --- which states are the same -------------------------------------------------------------------


def essence(scene: Scene) -> Hashable:
    """All that matters of a state; victims are alike, so that their names do not."""
    demands = [Target("Pod", "default", name, f"uid-{name}") for name in scene.demands]
    return (
        scene.spent,
        bool(scene.plan),
        scene.is_due,
        tuple(sorted(map(repr, (_of_victim(scene, pod) for pod in _victims(scene))))),
        _of_group(scene) if scene.whole else None,
        tuple(_of_demand(scene, pod) for pod in demands),
        _of_first_plan(scene),
    )


def _victims(scene: Scene) -> list[Target]:
    return [Target("Pod", "default", f"v{i}", f"uid-v{i}") for i in range(scene.victims)]


def _of_victim(scene: Scene, pod: Target) -> Hashable:
    plans = [scene.state.plans.of(key) for key in _keys(scene)]
    roles = [plan and (pod in plan.victims, pod in plan.leaving, pod in plan.gone) for plan in plans]
    one = scene.state.ledger.unit_evictions.of(pod)
    unit = one and (one.state, one.refusals, one.late)
    is_going = pod in scene.state.ledger.terminating
    agrees = _agrees(scene, pod) if scene.whole else None
    return (_shown(scene, pod), _under_way(scene, pod), tuple(roles), is_going, unit, agrees)


def _agrees(scene: Scene, pod: Target) -> Hashable:
    """Whether the mark of a pod, or its end, is of the decision that the mark of the group names."""
    group, thing = scene.cluster.objects.get(_group()), scene.cluster.objects.get(pod)
    decision = decision_in(shown_mark(group)) if isinstance(group, PodGroup) else ""
    if not decision or not isinstance(thing, Pod):
        return None
    return decision_in(shown_mark(thing)) == decision, shows_called_off(thing, decision)


def _group() -> Target:
    return Target("PodGroup", "default", GROUP, f"uid-{GROUP}")


def _of_group(scene: Scene) -> Hashable:
    joins = NEXT if scene.replaced else LATE
    late = Target("Pod", "default", joins, f"uid-{joins}")
    group = _group()
    thing = scene.cluster.objects.get(group)
    marked = isinstance(thing, PodGroup) and (is_marked(thing), is_open(thing))
    known = scene.state.ledger.open_marks.of(group)
    opened = known and (known.is_in_flight, known.again is not None)
    committing = tuple(group in plan.marks for _, plan in scene.state.plans)
    return (
        _of_victim(scene, late),
        (marked, _under_way(scene, group), committing, opened),
        (bool(scene.begun), joins in scene.begun, scene.restarted),
        _of_start(scene, late) if scene.replaced else None,
    )


def _of_start(scene: Scene, pod: Target) -> Hashable:
    """Of a member that has no node."""
    state, promise = scene.state, scene.state.ledger.assumed.of(pod)
    return state.queue.standing(DemandKey.of_group(("default", GROUP))), promise and promise.state


def _keys(scene: Scene) -> list[DemandKey]:
    return list(dict.fromkeys(scene.demands.values()))


def _of_first_plan(scene: Scene) -> Hashable:
    one, now = scene.improving, scene.cluster.stage.moment().elapsed
    late = sum(one is None or request.id != one.id for request in scene.cluster.stage.asked)
    if one is None:
        return late
    victims = [victim.pod for victim in one.price.victims] if one.price is not None else []
    return late, one.places, tuple(victims), one.is_awaited(now), one.is_long(now), one.found is None


def _of_demand(scene: Scene, pod: Target) -> Hashable:
    state, key = scene.state, scene.demands[pod.name]
    plan, promise = state.plans.of(key), state.ledger.assumed.of(pod)
    nomination = state.ledger.nominations.of(pod)
    standing = state.queue.standing(key)
    missed = standing is Standing.HELD and state.queue.has_missed(key)
    progress = (standing, missed, plan and plan.stage, promise and promise.state)
    return (
        _shown(scene, pod),
        _under_way(scene, pod),
        progress,
        nomination and nomination.node,
        pod in state.ledger.nominations.lingering,
    )


class Shown(NamedTuple):
    marked: bool
    leaving: bool
    nominated: str
    node: str


def _shown(scene: Scene, pod: Target) -> Shown | None:
    thing = scene.cluster.objects.get(pod)
    if not isinstance(thing, Pod):
        return None
    marked = any(c.type == MARK and c.status == "True" for c in thing.status.conditions)
    leaving = thing.metadata.deletion_timestamp is not None
    return Shown(marked, leaving, thing.status.nominated_node_name, thing.spec.node_name)


def _put_aside(scene: Scene) -> list[Effect]:
    """Calls that will be made again."""
    return [call for _, _, call in sorted(scene.state.resend_backoff._due, key=lambda one: one[:2])]


def _under_way(scene: Scene, pod: Target) -> Hashable:
    """In order, and which plan waits for it: that of the one, of the other, or none any more."""
    plans, doubts = [scene.state.plans.of(key) for key in _keys(scene)], scene.state.resend_backoff._times
    return tuple(
        (
            _word(call),
            tuple(plan is not None and call in plan.pending for plan in plans),
            scene.state.ledger.victims.strays.count(call),
            scene.is_small and call in doubts,  # an answer was lost: the next time it waits
            later,
        )
        for later, calls in enumerate((scene.cluster.stage.wanted, _put_aside(scene)))
        for call in calls
        if call.target == pod
    )


def _word(effect: Effect) -> str:
    match effect:
        case SetCondition(target=target, status=status, message=text):
            opens = target.kind != "Pod" and _OPEN.search(text) is not None
            return f"mark {status}{' open' if opens else ''}"
        case Nominate(node=node):
            return f"nominate {node}"
        case _:
            return type(effect).__name__


# What never changes is shared by all copies of a scene.
_SHARED: tuple[type, ...] = (
    *(Target, Nominate, SetCondition, Evict, Bind, Announce),
    *(Pod, PodGroup, Node, CompiledPod, Shape, Settings, Handover, Assumed, Nomination, UnitPod, OpenMark),
    *(
        Improving,
        ImprovePlan,
        DemandKey,
        DemandKind,
        Change,
        Step,
        Standing,
        Preemptor,
        StageReached,
        Finding,
        Reason,
        Victim,
    ),
)


class Packed:
    """A scene that waits to be gone on from, in as many ways as there are: packed once, unpacked for each.

    Pickled, since deepcopy takes three times as long, and since this is small enough for a million of them.
    """

    def __init__(self, scene: Scene) -> None:
        scene.cluster.stage.decisions.clear()
        scene.cluster.stage.records.clear()
        self._kept: list[object] = []
        packed = io.BytesIO()
        pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = {**dict.fromkeys(_SHARED, self._keep), np.ndarray: self._keep_array}
        pickler.dump(scene)
        self._packed = packed.getvalue()

    def _keep(self, thing: object) -> tuple[Callable[[int], object], tuple[int]]:
        self._kept.append(thing)
        return _kept, (len(self._kept) - 1,)

    def _keep_array(self, array: Column) -> tuple[Callable[[int], Column], tuple[int]]:
        self._kept.append(array.copy())
        return _copied, (len(self._kept) - 1,)

    def scene(self) -> Scene:
        _unpacking.append(self._kept)
        try:
            found = pickle.loads(self._packed)
        finally:
            _unpacking.pop()
        assert isinstance(found, Scene)
        return found


_unpacking: list[list[object]] = []


def _kept(number: int) -> object:
    return _unpacking[-1][number]


def _copied(number: int) -> Column:
    array = _unpacking[-1][number]
    assert isinstance(array, np.ndarray)
    return array.copy()


def fork(scene: Scene) -> Scene:
    """The same once more, to go on from in another way."""
    return Packed(scene).scene()


# --- breadth first -------------------------------------------------------------------------------


@dataclass(slots=True)
class Explored:
    # By the hash of what matters of it: two of a million have the same with a chance of 1 in 30 million.
    states: dict[int, int] = field(default_factory=dict)
    origins: list[tuple[int, Way]] = field(default_factory=list)  # of each state, where it was found first
    sure: list[list[int]] = field(default_factory=list)  # of each state, those that lead to it by themselves
    resting: set[int] = field(default_factory=set)
    steps: int = 0

    def story(self, number: int) -> list[str]:
        told = []
        while number:
            number, (what, whom) = self.origins[number]
            told.append(f"{what} {whom}")
        return told[::-1]


class _Ahead:
    """States that are to be followed, those with the fewest mishaps on their way first."""

    def __init__(self) -> None:
        self._by_mishaps: list[deque[tuple[int, Packed]]] = []
        self._fewest: list[int] = []  # by the number of a state; -1: it has been followed

    def knows(self, number: int, mishaps: int) -> bool:
        """Whether this state has been, or will be, followed after as few mishaps."""
        return number < len(self._fewest) and self._fewest[number] <= mishaps

    def add(self, number: int, mishaps: int, scene: Scene) -> None:
        while len(self._by_mishaps) <= mishaps:
            self._by_mishaps.append(deque())
        self._by_mishaps[mishaps].append((number, Packed(scene)))
        if number == len(self._fewest):
            self._fewest.append(mishaps)
        self._fewest[number] = mishaps

    def __iter__(self) -> Iterator[tuple[int, int, Packed]]:
        for mishaps, states in enumerate(self._by_mishaps):  # which grows meanwhile
            while states:
                number, packed = states.popleft()
                if self._fewest[number] == mishaps:
                    self._fewest[number] = -1
                    yield number, mishaps, packed


def explore(
    victims: int,
    *,
    whole: bool = False,
    replaced: bool = False,
    improved: bool = False,
    mishaps: int | None = None,
) -> Explored:
    """``mishaps``: how many things at most happen that need not; all that is sure to happen always does."""
    found, ahead = Explored(), _Ahead()

    def note(scene: Scene, before: int, origin: int, way: Way) -> int:
        number = found.states.setdefault(hash(essence(scene)), len(found.states))
        if number == len(found.origins):
            found.origins.append((origin, way))
            found.sure.append([])
            _checked(found, number, scene)
        if not ahead.knows(number, before):
            ahead.add(number, before, scene)
        return number

    note(beginning(victims, whole=whole, replaced=replaced, improved=improved), 0, 0, ("begins", ""))
    for number, before, packed in ahead:
        unused = [packed.scene()]
        for way in distinct_ways(unused[0]):
            is_sure = way[0] in SURE
            if not is_sure and before == mishaps:
                continue
            found.steps += 1
            scene = unused.pop() if unused else packed.scene()
            try:
                following = note(followed(scene, way), before + (not is_sure), number, way)
            except Exception as error:
                error.add_note(f"after {found.story(number)}: {way}")
                raise
            if is_sure:
                found.sure[following].append(number)
    _check_ways_out(found)
    return found


def _checked(found: Explored, number: int, scene: Scene) -> None:
    check(scene)
    if scene.is_at_rest:
        found.resting.add(number)
        check_rest(scene)


def _check_ways_out(found: Explored) -> None:
    """From every state what is sure to happen leads to rest."""
    known, ahead = set(found.resting), deque(found.resting)
    while ahead:
        for before in found.sure[ahead.popleft()]:
            if before not in known:
                known.add(before)
                ahead.append(before)
    stuck = sorted(set(range(len(found.origins))) - known)
    if stuck:
        raise BrokenInvariantError(f"no way out: {found.story(stuck[0])}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.reachable", description=__doc__)
    parser.add_argument("victims", type=int)
    parser.add_argument("--whole", action="store_true", help="the victims are one group")
    parser.add_argument(
        "--replaced", action="store_true", help="the same, with a member that has no node yet"
    )
    parser.add_argument(
        "--improved", action="store_true", help="the preemptor is a gang whose first plan is improved"
    )
    parser.add_argument("--mishaps", type=int, help="how many things at most go another way than they should")
    asked = parser.parse_args()
    whole = asked.whole or asked.replaced
    found = explore(
        asked.victims, whole=whole, replaced=asked.replaced, improved=asked.improved, mishaps=asked.mishaps
    )
    print(f"{len(found.states)} states, {found.steps} steps, {len(found.resting)} endings: all is well")


if __name__ == "__main__":
    main()
