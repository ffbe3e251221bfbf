"""Which fields of a pod's spec decide where it can run, and which of those does Reprieve serve?

The lists cover Kubernetes 1.37. A pod that uses a field which restricts its place and is not served must
wait: ``unserved_fields`` names such fields. A field in no list comes from a newer API and might restrict its
place too: ``unknown_fields`` names it. Neither decides what happens to the pod.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reprieve.model.objects import Container, Pod, PodSpec


@dataclass(frozen=True, slots=True)
class ServedFields:
    """The fields of one kind of object inside a pod spec."""

    served: frozenset[str]
    indifferent: frozenset[str] = frozenset()  # they do not affect placement
    not_served: frozenset[str] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        return self.served | self.indifferent | self.not_served


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SPEC = ServedFields(
    served=_names("""
        affinity containers hostNetwork hostUsers initContainers nodeName nodeSelector overhead
        preemptionPolicy priority priorityClassName resources schedulerName schedulingGates
        schedulingGroup terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes
    """),
    # Admission has already written the scheduling fields of a runtime class into the fields above.
    indifferent=_names("""
        activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers evictionResponders hostAliases hostIPC hostPID hostname hostnameOverride
        imagePullSecrets os readinessGates restartPolicy runtimeClassName securityContext serviceAccount
        serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    """),
    # workloadRef was the link to a gang in 1.35.
    not_served=_names("resourceClaims workloadRef"),
)
CONTAINER = ServedFields(
    served=_names("image name ports resources restartPolicy restartPolicyRules volumeMounts"),
    indifferent=_names("""
        args command env envFrom imagePullPolicy lifecycle livenessProbe readinessProbe resizePolicy
        securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty
        volumeDevices workingDir
    """),
)
RESOURCES = ServedFields(served=_names("limits requests"), not_served=_names("claims"))
VOLUME = ServedFields(
    served=_names("""
        awsElasticBlockStore azureDisk cinder csi ephemeral gcePersistentDisk image iscsi name
        persistentVolumeClaim portworxVolume rbd
    """),
    indifferent=_names("""
        azureFile cephfs configMap downwardAPI emptyDir fc flexVolume flocker gitRepo glusterfs hostPath
        nfs photonPersistentDisk projected quobyte scaleIO secret storageos vsphereVolume
    """),
)
VOLUME_MOUNT = ServedFields(
    served=_names("bindMountOptions"),
    indifferent=_names("mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr"),
)
PORT = ServedFields(served=_names("containerPort hostIP hostPort protocol"), indifferent=_names("name"))
TOLERATION = ServedFields(served=_names("effect key operator value"), indifferent=_names("tolerationSeconds"))
SPREAD = ServedFields(
    served=_names("""
        labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey
        whenUnsatisfiable
    """)
)
POD_TERM = ServedFields(
    served=_names("labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces topologyKey")
)
_NODE_TERM = ServedFields(served=_names("matchExpressions matchFields"))
_SELECTOR = ServedFields(served=_names("matchExpressions matchLabels"))
_EXPRESSION = ServedFields(served=_names("key operator values"))

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_STRENGTHS = ServedFields(served=frozenset({_REQUIRED, _PREFERRED}))


def _selector_at(path: str) -> dict[str, ServedFields]:
    return {path: _SELECTOR, f"{path}.matchExpressions[]": _EXPRESSION}


def _pod_term_at(path: str) -> dict[str, ServedFields]:
    selectors = _selector_at(f"{path}.labelSelector") | _selector_at(f"{path}.namespaceSelector")
    return {path: POD_TERM} | selectors


def _node_term_at(path: str) -> dict[str, ServedFields]:
    expressions = {f"{path}.matchExpressions[]": _EXPRESSION, f"{path}.matchFields[]": _EXPRESSION}
    return {path: _NODE_TERM} | expressions


def _pod_affinity_at(path: str) -> dict[str, ServedFields]:
    weighted = ServedFields(served=_names("podAffinityTerm weight"))
    return (
        {path: _STRENGTHS, f"{path}.{_PREFERRED}[]": weighted}
        | _pod_term_at(f"{path}.{_REQUIRED}[]")
        | _pod_term_at(f"{path}.{_PREFERRED}[].podAffinityTerm")
    )


def _container_at(path: str) -> dict[str, ServedFields]:
    return {
        path: CONTAINER,
        f"{path}.resources": RESOURCES,
        f"{path}.ports[]": PORT,
        f"{path}.volumeMounts[]": VOLUME_MOUNT,
        f"{path}.restartPolicyRules[]": ServedFields(
            served=_names("action"), indifferent=_names("exitCodes")
        ),
    }


_NODES = "spec.affinity.nodeAffinity"

# The objects inside a spec whose fields are checked, by path; [] stands for any item of a list.
PLACES: Mapping[str, ServedFields] = {
    "spec": SPEC,
    **_container_at("spec.containers[]"),
    **_container_at("spec.initContainers[]"),
    "spec.resources": RESOURCES,
    "spec.volumes[]": VOLUME,
    "spec.tolerations[]": TOLERATION,
    "spec.topologySpreadConstraints[]": SPREAD,
    **_selector_at("spec.topologySpreadConstraints[].labelSelector"),
    "spec.schedulingGates[]": ServedFields(served=_names("name")),
    "spec.schedulingGroup": ServedFields(served=_names("podGroupName")),
    "spec.affinity": ServedFields(served=_names("nodeAffinity podAffinity podAntiAffinity")),
    _NODES: _STRENGTHS,
    f"{_NODES}.{_REQUIRED}": ServedFields(served=_names("nodeSelectorTerms")),
    **_node_term_at(f"{_NODES}.{_REQUIRED}.nodeSelectorTerms[]"),
    f"{_NODES}.{_PREFERRED}[]": ServedFields(served=_names("preference weight")),
    **_node_term_at(f"{_NODES}.{_PREFERRED}[].preference"),
    **_pod_affinity_at("spec.affinity.podAffinity"),
    **_pod_affinity_at("spec.affinity.podAntiAffinity"),
}


def unserved_fields(pod: Pod) -> tuple[str, ...]:
    """The paths of the fields in use that restrict the pod's place and are not served."""
    spec = pod.spec
    if spec.resource_claims or spec.workload_ref is not None or _claims_devices(spec):
        return tuple(_unserved(spec))
    return ()


def _claims_devices(spec: PodSpec) -> bool:
    if spec.resources is not None and spec.resources.claims:
        return True
    return any(container.resources.claims for container in (*spec.containers, *spec.init_containers))


def _unserved(spec: PodSpec) -> Iterator[str]:
    if spec.resource_claims:
        yield "spec.resourceClaims"
    if spec.workload_ref is not None:
        yield "spec.workloadRef"
    if spec.resources is not None and spec.resources.claims:
        yield "spec.resources.claims"
    yield from _claiming(spec.init_containers, "spec.initContainers")
    yield from _claiming(spec.containers, "spec.containers")


def _claiming(containers: Iterable[Container], path: str) -> Iterator[str]:
    for i, container in enumerate(containers):
        if container.resources.claims:
            yield f"{path}[{i}].resources.claims"


def unknown_fields(spec: object) -> tuple[str, ...]:
    """The paths of unknown fields in a pod spec of plain JSON values."""
    return tuple(_unknown(spec, "spec", "spec"))


def _unknown(value: object, path: str, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown(item, f"{path}[{i}]", f"{place}[]")
    elif isinstance(value, dict) and place in PLACES:
        for name, child in value.items():
            if name in PLACES[place].known:
                yield from _unknown(child, f"{path}.{name}", f"{place}.{name}")
            elif child is not None:
                yield f"{path}.{name}"
