"""Is a host port free, compared port by port."""

from reprieve.model.objects import Container, ContainerPort, Node, Pod
from reprieve.placement.rejection_codes import Code, Reason
from tests.reference.plain.cluster import Cluster, Refusals

EVERY_ADDRESS = ("", "0.0.0.0")


def lasting_containers(pod: Pod) -> list[Container]:
    sidecars = [c for c in pod.spec.init_containers if c.restart_policy == "Always"]
    return [*sidecars, *pod.spec.containers]


def host_ports_of(pod: Pod) -> list[ContainerPort]:
    return [port for c in lasting_containers(pod) for port in c.ports if port.host_port > 0]


def collide(one: ContainerPort, other: ContainerPort) -> bool:
    if one.host_port != other.host_port or one.protocol != other.protocol:
        return False
    return one.host_ip == other.host_ip or one.host_ip in EVERY_ADDRESS or other.host_ip in EVERY_ADDRESS


def host_ports(cluster: Cluster, node: Node) -> Refusals:
    taken = [port for pod in cluster.pods_on(node) for port in host_ports_of(pod)]
    return {
        (Reason(Code.HOST_PORT, f"{wanted.host_port}/{wanted.protocol}"), True)
        for wanted in host_ports_of(cluster.newcomer)
        if any(collide(wanted, other) for other in taken)
    }
