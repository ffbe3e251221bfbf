"""What follows when priority classes say something new about tolerations.

The change itself wakes the demands that wait for it; here is what is reported, and what becomes of plans.
"""

from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.moment import Moment
from reprieve.model.objects import PriorityClass
from reprieve.model.snapshot import Snapshot
from reprieve.preemption.plan import Plan
from reprieve.scheduler.execution.plan_driver import plan_anew
from reprieve.scheduler.plans.plan_records import EndReason
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import target_at


def on_class_seen(state: State, priority_class: PriorityClass, now: Moment) -> None:
    changes = state.world.see(priority_class)
    state.wake(changes, now)
    if changes:
        faults = "; ".join(map(str, state.settings.tolerations.faults(priority_class)))
        state.reporter.report_faulty_class(_target(priority_class), faults)
        _plan_anew_in_doubt(state, now)


def _plan_anew_in_doubt(state: State, now: Moment) -> None:
    for key, handover in state.plans:
        if state.settings.tolerations.in_doubt(handover):
            plan_anew(state, key, EndReason.TOLERATIONS_CHANGED, now)


def warn_of_orphans(state: State, plan: Plan, view: Snapshot) -> None:
    """Victims that nothing could protect, since their class is gone."""
    for row, name in state.settings.tolerations.unprotected(view, plan):
        note = f"its priority class {name} is gone, and with it what the class said of tolerations"
        state.outbox.put(
            Announce(target_at(view, row), Tone.WARNING, "PriorityClassGone", "Preempting", note)
        )


def _target(priority_class: PriorityClass) -> Target:
    return Target("PriorityClass", "", priority_class.metadata.name, priority_class.metadata.uid)
