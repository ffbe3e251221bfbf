"""How is a node spelled? The owners that disable preemption for resizes are in one of two fields."""

from reprieve.model.objects import Node, NodeSpec, PodPreemptionPolicy, Record


class _OlderPolicy(Record, frozen=True):
    disable_pod_resize_preemption: tuple[str, ...] = ()


class _SpelledSpec(NodeSpec, frozen=True):
    preemption_policy: _OlderPolicy = _OlderPolicy()


class SpelledNode(Node, frozen=True):
    spec: _SpelledSpec = _SpelledSpec()


def keep_node(spelled: SpelledNode) -> Node:
    """The node of the model, with the owners of both fields, each once."""
    spec = spelled.spec
    owners = (
        *spec.pod_preemption_policy.disable_resize_preemption,
        *spec.preemption_policy.disable_pod_resize_preemption,
    )
    policy = PodPreemptionPolicy(disable_resize_preemption=tuple(dict.fromkeys(owners)))
    kept = NodeSpec(unschedulable=spec.unschedulable, taints=spec.taints, pod_preemption_policy=policy)
    return Node(metadata=spelled.metadata, spec=kept, status=spelled.status)
