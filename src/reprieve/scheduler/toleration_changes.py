"""What follows when priority classes say something new about tolerations.

Whoever waits is woken by the change itself; here is what people are told, and what becomes of plans.
"""

from collections.abc import Iterable, Iterator

from reprieve.model.effects import Announce, Effect, Target, Tone
from reprieve.model.objects import PriorityClass
from reprieve.model.snapshot import Snapshot
from reprieve.preemption.plan import Plan
from reprieve.preemption.toleration import faults_of
from reprieve.scheduler.explanation import target_at
from reprieve.scheduler.handover import Stage
from reprieve.scheduler.plan_driver import plan_anew
from reprieve.scheduler.plan_records import EndReason
from reprieve.scheduler.state import State


def saw_class(state: State, priority_class: PriorityClass, now: float) -> Iterator[Effect]:
    changes = state.world.see(priority_class)
    state.wake(changes, now)
    if changes and state.settings.tolerations:
        faults = "; ".join(map(str, faults_of(priority_class)))
        yield from state.reporter.class_is_faulty(_target(priority_class), faults)
        yield from plans_in_doubt(state, now)


def plans_in_doubt(state: State, now: float) -> Iterator[Effect]:
    """A plan for which nobody was asked to go yet is made anew: its victims may be protected by now."""
    for key, handover in state.plans:
        if handover.stage in (Stage.NOMINATED, Stage.MARKING):
            yield from plan_anew(state, key, EndReason.TOLERATIONS_CHANGED, now)


def orphans(state: State, plan: Plan, view: Snapshot) -> Iterator[Effect]:
    """Victims that nothing could protect, since their class is gone."""
    rows: Iterable[int] = (row for unit in plan.victims for row in unit.pods)
    for row in rows if state.settings.tolerations else ():
        name = view.pods.classes[row]
        if name and name not in view.priority_classes:
            note = f"its priority class {name} is gone, and with it what the class said of tolerations"
            yield Announce(target_at(view, row), Tone.WARNING, "PriorityClassGone", "Preempting", note)


def _target(priority_class: PriorityClass) -> Target:
    return Target("PriorityClass", "", priority_class.metadata.name, priority_class.metadata.uid)
