"""Which fields of a pod matter to its place, and which of those are not served: such fields are named."""

import json
from typing import Any

import pytest
from tests.unit.cluster.api.examples import POD, changed

from reprieve.cluster.api.codec import Decoded, decode_pod
from reprieve.cluster.api.schema import Object, fields_of
from reprieve.model import objects

# Fields that do not matter to where a pod can run; the model has all others. Admission has already written
# the scheduling fields of a runtime class into the spec.
INDIFFERENT = {
    "PodSpec": """
        activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers evictionResponders hostAliases hostIPC hostPID hostname hostnameOverride
        imagePullSecrets os readinessGates restartPolicy runtimeClassName securityContext serviceAccount
        serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    """,
    "Container": """
        args command env envFrom imagePullPolicy lifecycle livenessProbe readinessProbe resizePolicy
        securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty
        volumeDevices workingDir
    """,
    "Volume": """
        azureFile cephfs configMap downwardAPI emptyDir fc flexVolume flocker gitRepo glusterfs hostPath
        nfs photonPersistentDisk projected quobyte scaleIO secret storageos vsphereVolume
    """,
    "ResourceRequirements": "",
    "ContainerPort": "name",
    "VolumeMount": "mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr",
    "Toleration": "tolerationSeconds",
    "TopologySpreadConstraint": "",
    "PodAffinityTerm": "",
}
OF_OLDER_VERSIONS = {"workloadRef"}


@pytest.mark.parametrize("name", INDIFFERENT)
def test_every_field_of_the_api_is_in_the_model_or_does_not_matter(name: str) -> None:
    declared = set(getattr(objects, name).__struct_encode_fields__)
    assert not declared & set(INDIFFERENT[name].split())
    assert declared | set(INDIFFERENT[name].split()) == {*fields_of(Object(name))} | (
        declared & OF_OLDER_VERSIONS
    )


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
