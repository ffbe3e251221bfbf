"""When is the mark on a group that is evicted whole closed, so that the group may start again?

The mark is open from the first delete on. One more write closes it, when every pod of the unit is gone or not
waited for any longer, and pods of the unit without a node wait until that write is answered. Which marks are
open is in the ledger, see ``ledger.open_marks``.
"""

from collections.abc import Collection, Mapping

from reprieve.model.effects import Effect, SetCondition, Target
from reprieve.model.moment import Moment
from reprieve.scheduler.ledger.open_marks import OpenMark, OpenMarks
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.plans.handover import is_open, mark
from reprieve.scheduler.plans.whole_units import WholeUnits


def open_marks(units: WholeUnits, texts: Mapping[Target, str]) -> None:
    """The marks of these groups are open from now on. ``texts``: of the marks on their pods.

    Other groups of the same units may have been marked as well, and have lost their pods since.
    """
    begun = {unit: text for group, text in texts.items() if (unit := _unit_of(units, group)) is not None}
    shown = (target for target in units.ledger.victims.marked if is_shown_open(units.world.groups, target))
    for group in sorted({*texts, *shown}) if begun else ():
        unit = _unit_of(units, group)
        if unit in begun:
            units.ledger.open_marks.open(OpenMark(group, unit, begun[unit]))


def close_marks(units: WholeUnits, outbox: Outbox, now: Moment) -> None:
    """Closes the marks of units of which no pod is waited for."""
    marks = units.ledger.open_marks
    marks.give_up(now.elapsed)
    due = marks.to_close(now.elapsed)
    held = _held(units, due)
    for one in due:
        if one.unit in held:
            marks.hold_back(one.group)
        else:
            marks.on_close_sent(one.group, now.elapsed)
            units.ledger.victims.stray([_closed(one)])
            outbox.put(_closed(one))


def on_answered(marks: OpenMarks, effect: Effect) -> None:
    """A call was answered, or its group is gone."""
    if _closed_by(marks, effect) is not None:
        marks.end(effect.target)


def on_refused(marks: OpenMarks, effect: Effect, now: Moment) -> None:
    if _closed_by(marks, effect) is not None:
        marks.on_refused(effect.target, now.elapsed)


def resend_mark(units: WholeUnits, effect: Effect) -> bool:
    """Whether a call whose answer was lost is sent again."""
    one = _closed_by(units.ledger.open_marks, effect)
    if one is None:
        return False
    if _held(units, [one]):
        units.ledger.open_marks.hold_back(one.group)
        return False
    units.ledger.victims.stray([effect])
    return True


def _held(units: WholeUnits, marks: Collection[OpenMark]) -> frozenset[str]:
    """Units of these marks whose pods are waited for, or that another plan has marked and is about to evict.

    Hundreds of marks are looked at after every step, so all plans are looked at once, and only if it matters.
    """
    waited = frozenset(one.unit for one in marks if units.is_waited_for(one.unit))
    marked = frozenset(one.unit for one in marks)
    return waited if waited == marked else marked & (waited | units.committing())


def _closed(one: OpenMark) -> SetCondition:
    return mark(one.group, one.text)


def _closed_by(marks: OpenMarks, effect: Effect) -> OpenMark | None:
    one = marks.of(effect.target)
    return one if one is not None and one.is_in_flight and effect == _closed(one) else None


def _unit_of(units: WholeUnits, group: Target) -> str | None:
    return units.unit_of((group.namespace, group.name))


def is_shown_open(groups: GroupMirror, target: Target) -> bool:
    """Whether it is a group that shows an open mark."""
    known = groups.group((target.namespace, target.name)) if target.kind != "Pod" else None
    return known is not None and known.metadata.uid == target.uid and is_open(known)
