"""Which pod fields are served: the lists are complete, and what is not served or not known is named."""

import json
from typing import Any

import msgspec
import pytest
from tests.unit.cluster.api.examples import POD, changed

from reprieve.cluster.api.codec import Decoded, decode_pod, unknown_pod_fields
from reprieve.cluster.api.pod_fields import (
    CONTAINER,
    PLACES,
    POD_TERM,
    PORT,
    RESOURCES,
    SPEC,
    SPREAD,
    TOLERATION,
    VOLUME,
    VOLUME_MOUNT,
    ServedFields,
)
from reprieve.model import objects

# The fields of the API in Kubernetes 1.37.
IN_1_37 = {
    "PodSpec": """
        volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds
        activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount
        automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace
        securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases
        priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks
        preemptionPolicy overhead topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates
        resourceClaims resources hostnameOverride schedulingGroup evictionResponders
    """,
    "Container": """
        name image command args workingDir ports envFrom env resources resizePolicy restartPolicy
        restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle
        terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty
    """,
    "Volume": """
        name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
        persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap
        vsphereVolume quobyte azureDisk photonPersistentDisk projected portworxVolume scaleIO storageos csi
        ephemeral image
    """,
    "ResourceRequirements": "limits requests claims",
    "ContainerPort": "name hostPort containerPort protocol hostIP",
    "VolumeMount": """
        name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr bindMountOptions
    """,
    "Toleration": "key operator value effect tolerationSeconds",
    "TopologySpreadConstraint": """
        maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy nodeTaintsPolicy
        matchLabelKeys
    """,
    "PodAffinityTerm": """
        labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys
    """,
}
LISTED = {
    "PodSpec": SPEC,
    "Container": CONTAINER,
    "Volume": VOLUME,
    "ResourceRequirements": RESOURCES,
    "ContainerPort": PORT,
    "VolumeMount": VOLUME_MOUNT,
    "Toleration": TOLERATION,
    "TopologySpreadConstraint": SPREAD,
    "PodAffinityTerm": POD_TERM,
}
OF_OLDER_VERSIONS = {"workloadRef"}


@pytest.mark.parametrize("name", LISTED)
def test_the_lists_are_those_of_1_37(name: str) -> None:
    assert LISTED[name].known - OF_OLDER_VERSIONS == set(IN_1_37[name].split())


@pytest.mark.parametrize("fields", PLACES.values(), ids=PLACES)
def test_no_field_is_in_two_lists(fields: ServedFields) -> None:
    assert len(fields.known) == len(fields.served) + len(fields.indifferent) + len(fields.not_served)


@pytest.mark.parametrize("name", LISTED)
def test_the_model_declares_what_is_served_and_what_is_refused(name: str) -> None:
    declared = set(getattr(objects, name).__struct_encode_fields__)
    assert declared == LISTED[name].served | LISTED[name].not_served


def unserved(pod: dict[str, Any]) -> tuple[str, ...]:
    result = decode_pod(json.dumps(pod).encode())
    assert isinstance(result, Decoded), result
    return result.unserved


def test_an_ordinary_pod_uses_only_what_is_served() -> None:
    assert unserved(POD) == ()


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("spec.resourceClaims", [{"name": "gpu"}], "spec.resourceClaims"),
        ("spec.resources", {"claims": [{"name": "gpu"}]}, "spec.resources.claims"),
        (
            "spec.containers.0.resources.claims",
            [{"name": "gpu"}],
            "spec.containers[0].resources.claims",
        ),
        (
            "spec.initContainers",
            [{"name": "a"}, {"name": "b", "resources": {"claims": [{"name": "gpu"}]}}],
            "spec.initContainers[1].resources.claims",
        ),
        ("spec.workloadRef", {"name": "job", "podGroup": "workers"}, "spec.workloadRef"),
    ],
)
def test_what_is_not_served_is_named(path: str, value: object, named: str) -> None:
    assert unserved(changed(POD, path, value)) == (named,)


def test_every_field_that_is_not_served_is_found() -> None:
    pod = changed(POD, "spec.resourceClaims", [{"name": "gpu"}])
    pod = changed(pod, "spec.containers.0.resources.claims", [{"name": "gpu"}])
    assert unserved(pod) == ("spec.resourceClaims", "spec.containers[0].resources.claims")


# --- fields of a newer API -----------------------------------------------------------------------


def unknown(pod: dict[str, Any]) -> tuple[str, ...]:
    return unknown_pod_fields(json.dumps(pod).encode())


def test_an_ordinary_pod_has_no_unknown_field() -> None:
    assert unknown(POD) == ()


_TERM = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("spec.gravity", "spec.gravity"),
        ("spec.containers.0.gravity", "spec.containers[0].gravity"),
        ("spec.containers.0.resources.gravity", "spec.containers[0].resources.gravity"),
        ("spec.containers.0.ports.0.gravity", "spec.containers[0].ports[0].gravity"),
        ("spec.tolerations.0.gravity", "spec.tolerations[0].gravity"),
        ("spec.topologySpreadConstraints.0.gravity", "spec.topologySpreadConstraints[0].gravity"),
        ("spec.volumes.0.gravity", "spec.volumes[0].gravity"),
        (f"{_TERM}.0.gravity", f"{_TERM}[0].gravity"),
        (f"{_TERM}.0.labelSelector.gravity", f"{_TERM}[0].labelSelector.gravity"),
    ],
)
def test_an_unknown_field_is_named(path: str, named: str) -> None:
    assert unknown(changed(POD, path, {"towards": "west"})) == (named,)
    assert unknown(changed(POD, path, None)) == ()


def test_freely_named_keys_are_no_fields() -> None:
    assert unknown(changed(POD, "spec.nodeSelector", {"gravity": "west"})) == ()
    assert unknown(changed(POD, "spec.securityContext", {"gravity": "west"})) == ()


def test_nothing_is_unknown_in_what_is_no_pod() -> None:
    for data in (b"", b"[]", b"{}", b'{"spec": 5}', msgspec.json.encode({"spec": [{"gravity": 1}]})):
        assert unknown_pod_fields(data) == ()
