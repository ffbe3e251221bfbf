"""Why does a pod of a group stay, and another of it does not? Its gang needs it, or it costs the group more.

Names no pod and no group: what is said is shown to readers that may not know them.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.preemption.gangs import GangSlack, gang_slack
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.units import Unit, UnitKind
from reprieve.scheduler.reporting.decision import Because


@dataclass(frozen=True, slots=True, eq=False)
class SparedMembers:
    plan: Plan
    question: Question
    gangs: GangSlack | None  # None: groups have no say in it

    @classmethod
    def of(cls, plan: Plan, question: Question) -> "SparedMembers":
        if not question.policy.units(question.view).minds_gangs:
            return cls(plan, question, None)
        single = [u.pods[0] for u in (*plan.victims, *plan.spared) if u.kind is UnitKind.POD]
        pods = np.zeros(len(question.view.pods), np.bool_)
        pods[single] = True
        return cls(plan, question, gang_slack(question.view, pods))

    def why_spared(self, unit: Unit) -> Because | None:
        """None if it is not for its group."""
        if self.gangs is None or self._group(unit) is None:
            return None
        victims = self.plan.victims
        if self.gangs.broken([*victims, unit]) > self.gangs.broken(victims):
            return Because("NeededByGang", "without it, its gang would have fewer pods than it needs")
        others = (victim for victim in victims if self._group(victim) == self._group(unit))
        if any(self._costs_more(unit, other) for other in others):
            return Because("CostsMore", "it costs its group more than the pods of the group that are evicted")
        return None

    def _group(self, unit: Unit) -> object:
        return self.question.view.pods.groups[unit.pods[0]] if unit.kind is UnitKind.POD else None

    @staticmethod
    def _costs_more(unit: Unit, other: Unit) -> bool:
        return (unit.cheaper, unit.cheaper_to_delete) > (other.cheaper, other.cheaper_to_delete)
