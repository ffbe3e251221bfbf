"""The EndpointSlice of every Service with a selector: the addresses of its pods, and which are ready.

One slice for each Service, however many pods it has. Nothing is routed: clients read where it would go.
"""

from collections.abc import Iterator

from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import EndpointSliceFacts, PodFacts, ServiceFacts, Thing
from reprieve_minicluster.store import Key

SERVICE_LABEL = "kubernetes.io/service-name"
_MANAGED_BY = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case ServiceFacts():
            yield key_of(thing)
        case EndpointSliceFacts(metadata=meta) if SERVICE_LABEL in meta.labels:
            yield Key(ServiceFacts.resource, meta.namespace, meta.labels[SERVICE_LABEL])
        case PodFacts(metadata=meta):
            for service in cache.of(ServiceFacts).inside(meta.namespace):
                if _selects(service, thing):
                    yield key_of(service)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    service = cache.find(ServiceFacts, key)
    if service is None or not service.spec.selector or service.metadata.deletion_timestamp is not None:
        return
    pods = (pod for pod in cache.of(PodFacts).inside(key.namespace) if _selects(service, pod))
    endpoints = [
        _endpoint(pod, always=service.spec.publish_not_ready_addresses)
        for pod in sorted(pods, key=lambda pod: pod.metadata.name)
        if pod.status.pod_ip and not pod.is_over
    ]
    ports = [_port(port) for port in service.spec.ports]
    found = cache.of(EndpointSliceFacts).get(key.namespace, _name(service))
    if found is None:
        yield Create(EndpointSliceFacts.resource, _slice(service, endpoints, ports))
    elif (found.endpoints, found.ports or []) != (endpoints, ports):
        yield Update.of(found, lambda body: body.update(endpoints=endpoints, ports=ports))


def _selects(service: ServiceFacts, pod: PodFacts) -> bool:
    wanted = service.spec.selector or {}
    return bool(wanted) and wanted.items() <= pod.metadata.labels.items()


def _name(service: ServiceFacts) -> str:
    """Ends in the UID: a Service that is made again gets a slice of its own."""
    return f"{service.metadata.name[:200]}-{service.metadata.uid[:5]}"


def _endpoint(pod: PodFacts, *, always: bool) -> Json:
    meta = pod.metadata
    ready = pod.is_ready and not pod.is_leaving
    return {
        "addresses": [pod.status.pod_ip],
        "conditions": {"ready": ready or always, "serving": pod.is_ready, "terminating": pod.is_leaving},
        "nodeName": pod.spec.node_name,
        "targetRef": {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
    }


def _port(port: Json) -> Json:
    """A target port with a name belongs to a container, and is not looked up."""
    target = port.get("targetPort")
    number = target if isinstance(target, int) else port.get("port")
    return {"name": port.get("name") or "", "port": number, "protocol": port.get("protocol") or "TCP"}


def _slice(service: ServiceFacts, endpoints: list[Json], ports: list[Json]) -> Json:
    meta = service.metadata
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": _name(service),
            "namespace": meta.namespace,
            "labels": {**_MANAGED_BY, SERVICE_LABEL: meta.name},
            "ownerReferences": [owner],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }
