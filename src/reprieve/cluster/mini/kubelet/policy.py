"""Who has disabled preemption for resizes on a node. The field has two places, and the reason two names."""

from dataclasses import dataclass

from reprieve.cluster.api.values import part, texts
from reprieve.cluster.mini.conditions import Condition
from reprieve.model.json import Json
from reprieve.model.resizing import PREEMPTION_DISABLED


@dataclass(frozen=True, slots=True)
class ResizePolicy:
    """One owner is enough to disable it, and all must have gone to enable it again."""

    owners: tuple[str, ...] = ()
    reason: str = ""

    def condition(self, node: str, generation: int) -> Condition:
        message = f"preemption for resizes is disabled on node {node} by {', '.join(self.owners)}"
        return Condition(PREEMPTION_DISABLED, "True", self.reason, message, generation)


def policy_of(node: Json) -> ResizePolicy:
    spec = part(node, "spec")
    newer = tuple(texts(part(spec, "podPreemptionPolicy"), "disableResizePreemption"))
    older = tuple(texts(part(spec, "preemptionPolicy"), "disablePodResizePreemption"))
    owners = tuple(dict.fromkeys((*newer, *older)))
    reason = "PreemptionDisabledByNodePolicy" if newer else "PreemptionDisabled" if older else ""
    return ResizePolicy(owners, reason)
