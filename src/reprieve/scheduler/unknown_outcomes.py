"""What happens when a call times out or its answer is lost, so that its outcome is unknown?

The call may have worked: an eviction that timed out may have evicted. So nothing is taken back. A call that a
plan or a promise still needs is sent again, ever more slowly (``resend_backoff``); what became of any other
is left to the cluster to show. The time limit of one attempt is the performer's, and not known here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
)
from reprieve.scheduler import plan_driver, unit_driver
from reprieve.scheduler.ledger.assumed import Promise
from reprieve.scheduler.nomination_withdrawal import not_cleared
from reprieve.scheduler.state import State

_RESEND_AFTER = 10.0  # seconds until a bind whose answer was lost is sent again


def answer_lost(state: State, effect: Effect, now: float) -> Iterable[Effect]:
    """A call ended without an answer. Binds have their own time; events are not repeated."""
    waits = not isinstance(effect, Bind | Announce) and state.resend_backoff.puts_aside(effect, now)
    return () if waits else followed_up(state, effect, now)


def taken_up(state: State, now: float) -> Iterator[Effect]:
    """What follows for calls that have waited long enough since their answer was lost."""
    for effect in state.resend_backoff.taken_up(now):
        yield from followed_up(state, effect, now)


def followed_up(state: State, effect: Effect, now: float) -> Iterable[Effect]:
    """The call may have worked: a promise stays until the cluster shows which."""
    match effect:
        case Bind(pod):
            if (assumed := state.ledger.assumed.of(pod)) is not None:
                due = now + _RESEND_AFTER
                state.ledger.assumed.promise(replace(assumed, state=Promise.UNKNOWN, due=due))
            return ()
        case SelectNode() | BindVolume():
            if state.ledger.assumed.preparing(effect):
                return (effect,)
            state.resend_backoff.end(effect)
            return ()
        case Nominate() | SetCondition() | Evict():
            state.unreported(effect, now)
            if state.plans.must_know(effect) or unit_driver.must_know(state, effect):
                return (effect,)
            state.resend_backoff.end(effect)
            not_cleared(state, effect)
            if isinstance(effect, Evict) and effect.target not in state.ledger.terminating.stuck:
                # No plan sends it again. If the call worked after all, the cluster will show it.
                plan_driver.stays(state, effect.target)
            return ()
        case Announce():
            return ()
