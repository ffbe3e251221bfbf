"""Which priority does a group have as a victim? Its own, or that of a class that it names in an annotation.

The group still preempts with its own priority. The priority as a victim is never below it: a preemptor has a
higher priority of its own than its victims have of theirs, so no two groups can preempt each other in turn,
whatever the classes say. Which namespaces may name which classes is configured: such a class protects at the
expense of others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprieve.model.groups import Group
from reprieve.model.objects import PriorityClass

ANNOTATION = "reprieve.dev/preemption-priority-class"
EVERY_NAMESPACE = "*"
_SHOWN = 80  # characters of a value that is ignored

Classes = Mapping[str, PriorityClass]


@dataclass(frozen=True, slots=True)
class PermittedClasses:
    """The classes that groups may name, and in which namespaces."""

    namespaces: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by class

    def priority_of(self, group: Group, classes: Classes) -> int:
        """The priority of a group as a victim, for the outermost group around a pod."""
        own, named = group.spec.priority or 0, group.metadata.annotations.get(ANNOTATION)
        if named is None or not self._may_name(group, named) or named not in classes:
            return own
        return max(own, classes[named].value)

    def fault(self, group: Group, classes: Classes) -> str:
        """Why the annotation of a group is ignored; empty if it is not, or if there is none."""
        named, own = group.metadata.annotations.get(ANNOTATION), group.spec.priority or 0
        if named is None:
            return ""
        shown = named if len(named) <= _SHOWN else named[:_SHOWN] + "…"
        if not self._may_name(group, named):
            why = (
                f'namespace {group.metadata.namespace} may not name the class "{shown}": '
                "see preemptionPriorityClasses in the configuration of the scheduler"
            )
        elif named not in classes:
            why = f"there is no PriorityClass {shown}"
        elif classes[named].value < own:
            why = (
                f"the class {shown} has value {classes[named].value}, below the group's own priority {own}; "
                "name a class of at least that value"
            )
        else:
            return ""
        return f"annotation {ANNOTATION} is ignored: {why}"

    def _may_name(self, group: Group, named: str) -> bool:
        permitted = self.namespaces.get(named, frozenset())
        return EVERY_NAMESPACE in permitted or group.metadata.namespace in permitted


NONE_PERMITTED = PermittedClasses()
