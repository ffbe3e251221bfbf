"""Does the node itself suit: cordons, taints, selectors and affinity, declared features."""

from reprieve.model.objects import Node, Pod, Taint
from reprieve.placement.rejection_codes import Code, Reason
from tests.reference.plain.cluster import Cluster, Refusals
from tests.reference.plain.selectors import accepts, tolerates

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def is_tolerated(taint: Taint, pod: Pod) -> bool:
    return any(tolerates(toleration, taint) for toleration in pod.spec.tolerations)


def unschedulable(cluster: Cluster, node: Node) -> Refusals:
    if node.spec.unschedulable and not is_tolerated(CORDON, cluster.newcomer):
        return {(Reason(Code.NODE_UNSCHEDULABLE), False)}
    return set()


def taints(cluster: Cluster, node: Node) -> Refusals:
    """Of several taints the first is named."""
    for taint in node.spec.taints:
        if taint.effect != "PreferNoSchedule" and not is_tolerated(taint, cluster.newcomer):
            value = f"={taint.value}" if taint.value else ""
            return {(Reason(Code.UNTOLERATED_TAINT, f"{taint.key}{value}:{taint.effect}"), False)}
    return set()


def affinity(cluster: Cluster, node: Node) -> Refusals:
    spec = cluster.newcomer.spec
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    selected = spec.node_selector.items() <= node.metadata.labels.items()
    wanted = required is None or any(accepts(term, node) for term in required.node_selector_terms)
    return set() if selected and wanted else {(Reason(Code.NODE_AFFINITY), False)}


def needed_features(pod: Pod) -> set[str]:
    needed = set()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
            needed.add("RestartAllContainersOnContainerExits")
        if any(mount.bind_mount_options for mount in container.volume_mounts):
            needed.add("VolumeBindMountOptions")
    if pod.spec.host_network and pod.spec.host_users is False:
        needed.add("UserNamespacesHostNetworkSupport")
    return needed


def features(cluster: Cluster, node: Node) -> Refusals:
    needed = needed_features(cluster.newcomer)
    if needed <= set(node.status.declared_features):
        return set()
    return {(Reason(Code.NODE_FEATURE, ", ".join(sorted(needed))), False)}
