"""How open plans go on when their effects end, when pods leave, and when nobody needs them any more."""

from collections.abc import Iterable, Iterator

from reprieve.model.effects import Effect, Evict, Nominate, Target
from reprieve.scheduler.changes import Change
from reprieve.scheduler.demands import Asker
from reprieve.scheduler.explaining import failure_text
from reprieve.scheduler.handover import Handover, Stage, Step, abandoned, acknowledged, unmark, vanished
from reprieve.scheduler.queue import Key
from reprieve.scheduler.state import State


def _step(state: State, key: Key, before: Handover, step: Step, now: float) -> tuple[Effect, ...]:
    """A plan goes on; the preemptor is looked at again when calls are over, and when all are gone."""
    handover, effects = step
    state.plans.keep(key, handover)
    if handover.stage is Stage.READY:
        state.queue.again(key)
    elif handover.stage is Stage.DRAINING and before.is_settling:
        state.queue.let_wait(key, now)
    return effects


def went_well(state: State, effect: Effect, now: float) -> tuple[Effect, ...]:
    key = state.plans.answered(effect)
    handover = state.plans.of(key) if key is not None else None
    if key is None or handover is None:
        return ()
    return _step(state, key, handover, acknowledged(handover, effect), now)


def went_wrong(state: State, effect: Effect, error: str, now: float) -> Iterator[Effect]:
    """Nothing further is evicted; the demand is in line again, and told why."""
    key = state.plans.answered(effect)
    if key is not None:
        found = state.asker(key)
        yield from plan_anew(state, key, now)
        state.queue.retry(key, now)
        if isinstance(found, Asker):
            yield from state.say_all(found, failure_text(effect.target, error, found.key[1]))
    if isinstance(effect, Evict) and effect.target in state.plans.unused_marks():
        yield unmark(effect.target)


def has_left(state: State, target: Target, now: float) -> Iterator[Effect]:
    state.plans.lost(target)
    for key, handover in state.plans.concerned(target):
        yield from _step(state, key, handover, vanished(handover, target), now)


def lost_room(state: State, node: str, now: float) -> Iterator[Effect]:
    """Nobody waits for a node that is no more."""
    for key in dict.fromkeys(state.parts[pod] for pod, name in state.nominated.items() if name == node):
        yield from plan_anew(state, key, now)


def plan_anew(state: State, key: Key, now: float) -> Iterator[Effect]:
    yield from call_off(state, key, now)
    state.queue.again(key)


def call_off(state: State, key: Key, now: float) -> tuple[Effect, ...]:
    """The preemptor has its place, is gone, or must plan anew: what is not yet done is not done."""
    waiting = [pod for pod in state.nominated if state.parts[pod] == key]
    state.unreserve(waiting, key, now)
    withdrawn = tuple(Nominate(pod, "") for pod in waiting)
    handover = state.plans.drop(key)
    if handover is None:
        return withdrawn
    return (*withdrawn, *abandoned(handover, state.plans.needed())[1])


def wake_others(state: State, changes: Iterable[Change], now: float, pod: Target) -> None:
    """Of those who wait for this very pod to go, nobody is woken before the last of them is gone."""
    held = state.plans.waiting_for(pod)
    for change in changes:
        state.queue.wake(change, now, held)
