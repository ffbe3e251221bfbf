"""Conditions and events about demands that wait, and only if there is something new to report.

Knows what was reported last, and nothing of why.
"""

from typing import NamedTuple

from reprieve.model.conditions import NEVER, RUN_STARTED, run_started_at
from reprieve.model.effects import Announce, Effect, SetCondition, Target, Tone
from reprieve.model.objects import PodGroup
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.reporting.annotation_reports import ReportedOnce
from reprieve.scheduler.reporting.delayed_reports import RefusedReports
from reprieve.scheduler.targets import group_target

_TIMESTAMPS = 1.0  # seconds; conditions have no finer ones
_LONGEST_NOTE = 1024  # what a Kubernetes event may say
IMPROVING = "ImprovingPlan"  # why a group is not scheduled: its first plan is being improved
_SCHEDULED, _DIVERGES = "PodGroupInitiallyScheduled", "PodsNotMatchingPriority"
_INCOMPLETE = "PreemptionIncomplete"
_GROWN = "reprieve.dev/ResizesGranted"


class _Report(NamedTuple):
    reason: str  # of the condition; empty if there is none
    said: str


class Notice(NamedTuple):
    """What is reported about a demand that waits. ``lasting``: the part of it that makes it worth reporting
    again when it changes; empty: all of it. Counts and amounts change with every pod that comes or goes, and
    a write for each waiting pod whenever that happens would leave room for nothing else."""

    text: str
    lasting: str = ""

    @property
    def said(self) -> str:
        return self.lasting or self.text


class StatusReporter:
    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.refused = RefusedReports()
        self._reported: dict[Target, _Report] = {}
        self._reworded: set[Target] = set()  # their last report gave the same reason as the one before
        self._without_event: set[Target] = set()  # pods that got the condition and no event
        self._diverging: dict[Target, str] = {}  # of the priorities in a group; empty: that they agree
        self._incomplete: dict[Target, str] = {}  # pods that a preempted group keeps; empty: that it has none
        self._growths: dict[Target, str] = {}  # what groups say of members that grow
        self._lost_parents = ReportedOnce()
        self._runs: dict[Target, float] = {}  # when runs of groups started; NEVER: that none is going on

    def forget(self, target: Target) -> None:
        """The last reports do not hold any more."""
        self._reported.pop(target, None)
        self._reworded.discard(target)
        self._without_event.discard(target)
        self._diverging.pop(target, None)
        self._incomplete.pop(target, None)
        self._runs.pop(target, None)
        self._growths.pop(target, None)
        self._lost_parents.forget(target)

    def on_reported(self, effect: Effect) -> None:
        """A write arrived."""
        if _is_of_all_pods(effect):
            self.refused.end((effect.target.namespace, effect.target.name))

    def on_unreported(self, effect: Effect, now: float) -> None:
        """A write failed, or its outcome is unknown: what it said counts as not said.

        Other writes about the object may still arrive.
        """
        target = effect.target
        if _is_of_all_pods(effect):
            self.refused.begin((target.namespace, target.name), now)
        match effect:
            case SetCondition(type=condition) if condition == _DIVERGES:
                self._diverging.pop(target, None)
            case SetCondition(type=condition) if condition == _INCOMPLETE:
                self._incomplete.pop(target, None)
            case SetCondition(type=condition) if condition == RUN_STARTED:
                self._runs.pop(target, None)
            case SetCondition(type=condition) if condition == _GROWN:
                self._growths.pop(target, None)
            case _:
                self._reported.pop(target, None)
                self._without_event.discard(target)

    def has_reported(self, target: Target, said: str) -> bool:
        """Whether there would be nothing new to report: neither in its condition nor as an event."""
        reported = self._reported.get(target)
        return reported is not None and reported.said == said and target not in self._without_event

    def is_reworded(self, target: Target) -> bool:
        """Whether its last report gave the same reason as the one before, in other words."""
        return target in self._reworded

    def warn(self, target: Target, text: str) -> None:
        if self._is_news(target, text):
            self._outbox.put(_warning(target, text))

    def report_faulty_class(self, priority_class: Target, text: str) -> None:
        """What is wrong with its annotations; an empty text: nothing, and the next fault is news again."""
        if self._is_news(priority_class, text) and text:
            note = text[:_LONGEST_NOTE]
            self._outbox.put(Announce(priority_class, Tone.WARNING, "InvalidToleration", "Preempting", note))

    def report_waiting_pod(self, pod: Target, reason: str, notice: Notice, *, aloud: bool = True) -> None:
        """Why a pod has no node. Not ``aloud``: another event says it, or will."""
        text, news, unheard = notice.text, self._is_news(pod, notice.said, reason), pod in self._without_event
        if news:
            self._outbox.put(SetCondition(pod, "PodScheduled", "False", reason, text[:_LONGEST_NOTE]))
        if not aloud:
            self._without_event.add(pod)
        elif news or unheard:
            self._without_event.discard(pod)
            self._outbox.put(_warning(pod, text))

    def report_resize_step(self, pod: Target, reason: str, text: str) -> None:
        """The next step of a resize. The pod has its node, so no condition is set."""
        if self._is_news(pod, text):
            self._outbox.put(Announce(pod, Tone.NORMAL, reason, "Scheduling", text[:_LONGEST_NOTE]))

    def report_waiting_resize(self, pod: Target, notice: Notice) -> None:
        if self._is_news(pod, notice.said):
            note = notice.text[:_LONGEST_NOTE]
            self._outbox.put(Announce(pod, Tone.WARNING, "NoRoomInPlace", "Scheduling", note))

    def report_waiting_group(self, group: PodGroup, notice: Notice, reason: str = "Unschedulable") -> None:
        """A group that was scheduled once stays so, whatever becomes of pods that join later."""
        target, text = group_target(group), notice.text
        if not self.is_scheduled(group) and self._is_news(target, notice.said, reason):
            self._outbox.put(SetCondition(target, _SCHEDULED, "False", reason, text[:_LONGEST_NOTE]))

    def report_flawed_group(self, group: PodGroup, reason: str, text: str) -> None:
        """The groups around it are not as they must be."""
        target = group_target(group)
        if self._is_news(target, text):
            if not _is_true(group, _SCHEDULED):
                self._outbox.put(SetCondition(target, _SCHEDULED, "False", reason, text[:_LONGEST_NOTE]))
            self._outbox.put(_warning(target, text))

    def report_scheduled_group(self, group: PodGroup) -> None:
        target = group_target(group)
        if not _is_true(group, _SCHEDULED) and self._is_news(target, _SCHEDULED):
            self._outbox.put(SetCondition(target, _SCHEDULED, "True", "Scheduled", ""))

    def is_scheduled(self, group: PodGroup) -> bool:
        return _is_true(group, _SCHEDULED) or self.has_reported(group_target(group), _SCHEDULED)

    def report_run(self, group: PodGroup, start: float | None) -> None:
        """Since when a group runs; None: no run is going on, which is news only if one was."""
        target, shown = group_target(group), run_started_at(group)
        start = NEVER if start is None else start
        reported, self._runs[target] = self._runs.get(target), start
        if start in (reported, shown) or abs(shown - start) < _TIMESTAMPS:
            return
        if start == NEVER:
            self._outbox.put(
                SetCondition(target, RUN_STARTED, "False", "NoPodRuns", "no pod of the group is bound")
            )
        else:
            text = "as many pods as the group needs are bound"
            self._outbox.put(SetCondition(target, RUN_STARTED, "True", "PodsBound", text, since=start))

    def report_divergence(self, group: PodGroup, text: str) -> None:
        """That pods of a group have other priorities than it; an empty text: that none has."""
        target = group_target(group)
        reported = self._diverging.get(target, _true_message(group, _DIVERGES))
        self._diverging[target] = text
        if reported == text:
            return
        if text:
            self._outbox.put(
                SetCondition(target, _DIVERGES, "True", "PrioritiesDiffer", text[:_LONGEST_NOTE])
            )
        else:
            agree = "all pods have the priority of the group"
            self._outbox.put(SetCondition(target, _DIVERGES, "False", "PrioritiesAgree", agree))

    def report_lost_parent(self, group: PodGroup, text: str) -> None:
        """That a group around one that runs is gone; an empty text: that none is."""
        target = group_target(group)
        if not text:
            self._lost_parents.forget(target)
        elif self._lost_parents.is_news(target, text):
            self._outbox.put(Announce(target, Tone.WARNING, "ParentMissing", "Preempting", text))

    def reports_growth(self, group: PodGroup) -> bool:
        """Whether a group says that members wait to grow, or is about to."""
        reported = self._growths.get(group_target(group))
        return bool(_message(group, _GROWN, "False") if reported is None else reported)

    def report_growth(self, group: PodGroup, text: str, *, is_complete: bool) -> None:
        """How many members of a group have the resources that they ask for; complete: all of them."""
        target = group_target(group)
        reported = self._growths.get(target, _message(group, _GROWN, "False"))
        self._growths[target] = "" if is_complete else text
        if is_complete and reported:
            self._outbox.put(SetCondition(target, _GROWN, "True", "AllGranted", text[:_LONGEST_NOTE]))
        elif not is_complete and reported != text:
            self._outbox.put(SetCondition(target, _GROWN, "False", "WaitingForRoom", text[:_LONGEST_NOTE]))

    def report_incomplete_preemption(self, group: PodGroup, text: str, *, again: bool) -> None:
        """Which pods of a preempted group the API server does not let go; an empty text: none.

        ``again``: an eviction was refused just now, which is an event even if it was refused before.
        """
        target, note = group_target(group), text[:_LONGEST_NOTE]
        reported = self._incomplete.get(target, _true_message(group, _INCOMPLETE))
        self._incomplete[target] = text
        if reported != text and text:
            self._outbox.put(SetCondition(target, _INCOMPLETE, "True", "EvictionRefused", note))
        elif reported != text:
            self._outbox.put(
                SetCondition(target, _INCOMPLETE, "False", "EvictionsAccepted", "no eviction is refused")
            )
        if text and (again or reported != text):
            self._outbox.put(Announce(target, Tone.WARNING, _INCOMPLETE, "Preempting", note))

    def _is_news(self, target: Target, said: str, reason: str = "") -> bool:
        before, report = self._reported.get(target), _Report(reason, said)
        if before == report:
            return False
        self._reported[target] = report
        if before is not None and before.reason == reason:
            self._reworded.add(target)
        else:
            self._reworded.discard(target)
        return True


def _is_of_all_pods(effect: Effect) -> bool:
    """Whether it is a condition of a group that follows from all of its pods."""
    return isinstance(effect, SetCondition) and effect.type in (RUN_STARTED, _DIVERGES, _GROWN)


def _warning(target: Target, text: str) -> Announce:
    return Announce(target, Tone.WARNING, "FailedScheduling", "Scheduling", text[:_LONGEST_NOTE])


def is_improving(group: PodGroup) -> bool:
    """Whether it says that its plan is being improved."""
    return any(c.type == _SCHEDULED and c.reason == IMPROVING for c in group.status.conditions)


def _is_true(group: PodGroup, condition: str) -> bool:
    return any(c.type == condition and c.status == "True" for c in group.status.conditions)


def _true_message(group: PodGroup, condition: str) -> str:
    """What a condition says that holds; empty if it does not."""
    return _message(group, condition, "True")


def _message(group: PodGroup, condition: str, status: str) -> str:
    """What a condition says if it has this status; empty if it has another, or is missing."""
    said = (c.message for c in group.status.conditions if c.type == condition and c.status == status)
    return next(said, "")
