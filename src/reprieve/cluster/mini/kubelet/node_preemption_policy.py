"""Whether a node disables preemption for resizes. The field has two paths, and the reason two names."""

from dataclasses import dataclass

from reprieve.cluster.api.values import part, texts
from reprieve.cluster.mini.conditions import StatusCondition
from reprieve.model.json import Json
from reprieve.model.resizing import PREEMPTION_DISABLED


@dataclass(frozen=True, slots=True)
class NodePreemptionPolicy:
    """``owners``: the keys that disable preemption. One is enough; it is enabled when there is none."""

    owners: tuple[str, ...] = ()
    reason: str = ""

    def condition(self, node: str, generation: int) -> StatusCondition:
        message = f"node {node} disables preemption for resizes: {', '.join(self.owners)}"
        return StatusCondition(PREEMPTION_DISABLED, "True", self.reason, message, generation)


def policy_of(node: Json) -> NodePreemptionPolicy:
    spec = part(node, "spec")
    newer = tuple(texts(part(spec, "podPreemptionPolicy"), "disableResizePreemption"))
    older = tuple(texts(part(spec, "preemptionPolicy"), "disablePodResizePreemption"))
    owners = tuple(dict.fromkeys((*newer, *older)))
    reason = "PreemptionDisabledByNodePolicy" if newer else "PreemptionDisabled" if older else ""
    return NodePreemptionPolicy(owners, reason)
