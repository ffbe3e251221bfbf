"""Which controllers run? Chosen by name, in the syntax of kube-controller-manager, for one that runs beside.

A name is that of the controller that does the same in kube-controller-manager, if there is one.
"""

import difflib
from collections.abc import Iterator
from enum import StrEnum


class ControllerName(StrEnum):
    CLUSTER_ROLE_AGGREGATION = "clusterrole-aggregation-controller"
    CRON_JOB = "cronjob-controller"
    DAEMON_SET = "daemonset-controller"
    DEPLOYMENT = "deployment-controller"
    DISRUPTION = "disruption-controller"
    ENDPOINT_SLICE = "endpointslice-controller"
    GARBAGE_COLLECTOR = "garbage-collector-controller"
    JOB = "job-controller"
    NAMESPACE = "namespace-controller"
    NODE_LIFECYCLE = "node-lifecycle-controller"
    PERSISTENT_VOLUME = "persistentvolume-binder-controller"
    POD_GROUP_PROTECTION = "podgroup-protection-controller"
    REPLICA_SET = "replicaset-controller"
    RESOURCE_QUOTA = "resourcequota-controller"
    ROOT_CA_PUBLISHER = "root-ca-certificate-publisher-controller"
    SERVICE_ACCOUNT = "serviceaccount-controller"
    STATEFUL_SET = "statefulset-controller"
    VOLUME_PROTECTION = "persistentvolumeclaim-protection-controller"
    WORKLOAD = "workload-controller"


ALL_CONTROLLERS = frozenset(ControllerName)
_ALL, _NONE, _SUFFIX = "*", "none", "-controller"


def selected_controllers(text: str) -> frozenset[ControllerName]:
    """`*`, names and names with a `-` before them, separated by commas, or `none`; raises ValueError.

    Where kube-controller-manager would run no controller because a list only takes away from nothing, such a
    list takes away from all.
    """
    words = [word.strip() for word in text.split(",")]
    if words == [_NONE]:
        return frozenset()
    added = frozenset(_named(word for word in words if word != _ALL and not word.startswith("-")))
    removed = frozenset(_named(word[1:] for word in words if word.startswith("-")))
    base = ALL_CONTROLLERS if _ALL in words or not added else frozenset()
    return (base | added) - removed


def _named(words: Iterator[str]) -> Iterator[ControllerName]:
    for word in words:
        name = word if word.endswith(_SUFFIX) else f"{word}{_SUFFIX}"
        if name not in ALL_CONTROLLERS:
            close = difflib.get_close_matches(name, list(ControllerName), n=1)
            hint = f' (did you mean "{close[0]}"?)' if close else ""
            raise ValueError(f'expected *, none, or names of controllers, got "{word}"{hint}')
        yield ControllerName(name)
