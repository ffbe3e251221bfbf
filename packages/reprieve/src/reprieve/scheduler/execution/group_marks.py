"""When is the mark on a group that is evicted whole closed, so that the group may start again?

The mark is open from the first delete on. One more write closes it, when every pod of the unit is gone or not
waited for any longer, and pods of the unit without a node wait until that write is answered. Which marks are
open is in the ledger, see ``ledger.open_marks``. How pods are evicted is not known here.
"""

from collections.abc import Mapping

from reprieve.model.effects import Effect, SetCondition, Target
from reprieve.model.moment import Moment
from reprieve.scheduler.ledger.open_marks import OpenMark
from reprieve.scheduler.plans.handover import is_open, mark
from reprieve.scheduler.state import State


def open_marks(state: State, texts: Mapping[Target, str]) -> None:
    """The marks of these groups are open from now on. ``texts``: of the marks on their pods.

    Other groups of the same units may have been marked as well, and have lost their pods since.
    """
    units = {unit: text for group, text in texts.items() if (unit := _unit_of(state, group)) is not None}
    shown = (target for target in state.ledger.victims.marked if is_shown_open(state, target))
    for group in sorted({*texts, *shown}) if units else ():
        unit = _unit_of(state, group)
        if unit in units:
            state.ledger.open_marks.open(OpenMark(group, unit, units[unit]))


def close_marks(state: State, now: Moment) -> None:
    """Closes the marks of units of which no pod is waited for."""
    marks = state.ledger.open_marks
    marks.give_up(now.elapsed)
    for one in marks.to_close(now.elapsed):
        if _must_stay(state, one):
            marks.hold_back(one.group)
        else:
            marks.closing(one.group, now.elapsed)
            state.ledger.victims.stray([_closed(one)])
            state.outbox.put(_closed(one))


def on_answered(state: State, effect: Effect) -> None:
    """A call was answered, or its group is gone."""
    if _closed_by(state, effect) is not None:
        state.ledger.open_marks.end(effect.target)


def on_refused(state: State, effect: Effect, now: Moment) -> None:
    if _closed_by(state, effect) is not None:
        state.ledger.open_marks.refused(effect.target, now.elapsed)


def resend(state: State, effect: Effect) -> bool:
    """Whether a call whose answer was lost is sent again."""
    one = _closed_by(state, effect)
    if one is None:
        return False
    if _must_stay(state, one):
        state.ledger.open_marks.hold_back(one.group)
        return False
    state.ledger.victims.stray([effect])
    return True


def _must_stay(state: State, one: OpenMark) -> bool:
    """Whether pods are waited for, or another plan has written its own mark and is about to evict."""
    return one.unit in state.units.committing() or state.units.is_waited_for(one.unit)


def _closed(one: OpenMark) -> SetCondition:
    return mark(one.group, one.text)


def _closed_by(state: State, effect: Effect) -> OpenMark | None:
    one = state.ledger.open_marks.of(effect.target)
    return one if one is not None and one.is_in_flight and effect == _closed(one) else None


def _unit_of(state: State, group: Target) -> str | None:
    return state.units.unit_of((group.namespace, group.name))


def is_shown_open(state: State, target: Target) -> bool:
    """Whether it is a group that shows an open mark."""
    known = state.world.groups.group((target.namespace, target.name)) if target.kind != "Pod" else None
    return known is not None and known.metadata.uid == target.uid and is_open(known)
