"""What happens when a call times out or its answer is lost, so that its outcome is unknown?

The call may have worked: an eviction that timed out may have evicted. So nothing is taken back. A call that a
plan or a promise still needs is sent again, ever more slowly (``plans.preemption_backoff``); what became of
any other is left to the cluster to show. The time limit of one attempt is the performer's.
"""

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
from reprieve.model.moment import Moment
from reprieve.scheduler.execution import plan_driver, unit_driver
from reprieve.scheduler.execution.nomination_withdrawal import on_not_cleared
from reprieve.scheduler.ledger.assumed import Promise
from reprieve.scheduler.state import State

_RESEND_AFTER = 10.0  # seconds until a bind whose answer was lost is sent again


def on_answer_lost(state: State, effect: Effect, now: Moment) -> None:
    """A call ended without an answer. Binds have their own time; events are not repeated."""
    unit_driver.on_answer_lost(state.units, effect)
    if isinstance(effect, Bind | Announce) or not state.resend_backoff.puts_aside(effect, now.elapsed):
        follow_up(state, effect, now)


def follow_up_delayed(state: State, now: Moment) -> None:
    """What follows for calls that have waited long enough since their answer was lost."""
    for effect in state.resend_backoff.taken_up(now.elapsed):
        follow_up(state, effect, now)


def follow_up(state: State, effect: Effect, now: Moment) -> None:
    """The call may have worked: a promise stays until the cluster shows which."""
    match effect:
        case Bind(pod):
            if (assumed := state.ledger.assumed.of(pod)) is not None:
                due = now.elapsed + _RESEND_AFTER
                state.ledger.assumed.promise(replace(assumed, state=Promise.UNKNOWN, due=due))
        case SelectNode() | BindVolume():
            if state.ledger.assumed.preparing(effect):
                state.outbox.put(effect)
            else:
                state.resend_backoff.end(effect)
        case Nominate() | SetCondition() | Evict():
            state.reporter.on_unreported(effect, now.elapsed)
            if state.plans.match_lost_answer(effect) or unit_driver.resend(state.units, effect):
                state.outbox.put(effect)
                return
            state.resend_backoff.end(effect)
            on_not_cleared(state.ledger.nominations, effect)
            if isinstance(effect, Evict) and effect.target not in state.ledger.terminating.stuck:
                # No plan sends it again. If the call worked after all, the cluster will show it.
                plan_driver.count_as_staying(state.units, effect.target)
        case Announce():
            pass
