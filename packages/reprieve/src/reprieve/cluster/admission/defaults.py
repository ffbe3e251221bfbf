"""Which values do the fields have that an object leaves out? The defaults of each kind, written into it.

``default`` changes the object it is given, which is the caller's copy. It never overwrites a value, leaves
what is malformed for validation to reject, and is idempotent.
"""

import base64
from collections.abc import Callable, Mapping

from reprieve.cluster.admission.features import Features
from reprieve.cluster.admission.pod_defaults import default_pod, default_pod_spec
from reprieve.cluster.api.values import items, made, part, sized, text_in
from reprieve.model.json import Json

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_OLDER = "v1alpha2"
_QUARTER = "25%"
_UNLIMITED = 2**31 - 1
_RIGHTS = "rbac.authorization.k8s.io"


def default(body: Json, version: str, features: Features) -> None:
    kind = text_in(body, "kind")
    if kind in ("PodGroup", "CompositePodGroup"):
        _default_group(body, version, features)
    elif kind in _DEFAULTS:
        _DEFAULTS[kind](body)


def _default_group(body: Json, version: str, features: Features) -> None:
    spec = made(body, "spec")
    if not features.workload_aware_preemption:
        return
    if version == _OLDER:
        if "disruptionMode" not in part(spec, "schedulingPolicy"):
            spec.setdefault("disruptionMode", "Pod")
        return
    # The preemption policy has no default here: admission fills in that of the class. Kubernetes 1.37 has
    # one, and so refuses a group whose class says Never for a field that its author never wrote.
    spec.setdefault("disruptionMode", {"single": {}})


# --- core ----------------------------------------------------------------------------------------


def _default_namespace(body: Json) -> None:
    if name := text_in(part(body, "metadata"), "name"):
        made(made(body, "metadata"), "labels")[NAMESPACE_LABEL] = name
    finalizers = made(body, "spec").setdefault("finalizers", [])
    if isinstance(finalizers, list) and "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def _default_node(body: Json) -> None:
    status = body.get("status")
    if isinstance(status, dict) and isinstance(status.get("capacity"), dict):
        status.setdefault("allocatable", dict(status["capacity"]))
    for field in ("capacity", "allocatable"):
        for name, quantity in part(status, field).items():
            part(status, field)[name] = sized(quantity)


def _default_event(body: Json) -> None:
    """Times that are not known are null, and not left out: clients sort by them."""
    newer = str(body.get("apiVersion", "")).startswith("events.k8s.io/")
    first, last = (
        ("deprecatedFirstTimestamp", "deprecatedLastTimestamp")
        if newer
        else ("firstTimestamp", "lastTimestamp")
    )
    for field in (first, last, "eventTime"):
        body.setdefault(field, None)


def _default_config_map(body: Json) -> None:
    _join_lines(part(body, "binaryData"))


def _join_lines(encoded: Json) -> None:
    """Go's decoder of base64 ignores line breaks."""
    for key, value in encoded.items():
        if isinstance(value, str) and ("\n" in value or "\r" in value):
            encoded[key] = value.replace("\n", "").replace("\r", "")


def _default_secret(body: Json) -> None:
    """stringData is stored encoded, and overrides entries of data."""
    if not body.get("type"):
        body["type"] = "Opaque"
    _join_lines(part(body, "data"))
    if not isinstance(body.get("stringData"), dict):
        return
    data = made(body, "data")
    for key, value in part(body, "stringData").items():
        if isinstance(value, str):
            data[key] = base64.b64encode(value.encode()).decode()
    if all(isinstance(value, str) for value in body["stringData"].values()):
        del body["stringData"]


def _default_service(body: Json) -> None:
    spec = made(body, "spec")
    for field, value in (("type", "ClusterIP"), ("sessionAffinity", "None")):
        if not spec.get(field):
            spec[field] = value
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in items(spec, "ports"):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort") and "port" in port:
            port["targetPort"] = port["port"]


def _default_volume(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    for name, quantity in part(spec, "capacity").items():
        spec["capacity"][name] = sized(quantity)


def _default_claim(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("volumeMode", "Filesystem")
    for name, quantity in part(spec, "resources", "requests").items():
        spec["resources"]["requests"][name] = sized(quantity)


def _default_storage_class(body: Json) -> None:
    body.setdefault("reclaimPolicy", "Delete")
    body.setdefault("volumeBindingMode", "Immediate")


def _default_driver(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("attachRequired", True)
    for field in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(field, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _default_capacity(body: Json) -> None:
    for field in ("capacity", "maximumVolumeSize"):
        if field in body:
            body[field] = sized(body[field])


def _default_quota(body: Json) -> None:
    hard = part(body, "spec", "hard")
    for name, quantity in hard.items():
        hard[name] = sized(quantity)


def _default_limit_range(body: Json) -> None:
    for limit in items(part(body, "spec"), "limits"):
        for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            for name, quantity in part(limit, field).items():
                limit[field][name] = sized(quantity)
        if limit.get("type") == "Container":
            _fill_limit(limit)


def _fill_limit(limit: Json) -> None:
    """A maximum or minimum is also the default of containers that leave the amount out."""
    for field, source in (("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")):
        for name, quantity in part(limit, source).items():
            made(limit, field).setdefault(name, quantity)


# --- what makes pods -----------------------------------------------------------------------------


def _default_template(spec: Json) -> None:
    if isinstance(spec.get("template"), dict):
        default_pod_spec(made(spec["template"], "spec"))


def _default_strategy(strategy: Json, **rolling: int | str) -> None:
    """The default strategy is RollingUpdate; ``rolling``: the defaults of its fields."""
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        for field, usually in rolling.items():
            made(strategy, "rollingUpdate").setdefault(field, usually)


def _default_deployment(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    _default_strategy(made(spec, "strategy"), maxUnavailable=_QUARTER, maxSurge=_QUARTER)
    _default_template(spec)


def _default_replica_set(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("replicas", 1)
    _default_template(spec)


def _default_replication_controller(body: Json) -> None:
    """The labels of the template are the default of the selector."""
    spec, meta = made(body, "spec"), made(body, "metadata")
    spec.setdefault("replicas", 1)
    labels = part(spec, "template", "metadata", "labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)
    _default_template(spec)


def _default_stateful_set(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_strategy(made(spec, "updateStrategy"), partition=0, maxUnavailable=1)
    retention = made(spec, "persistentVolumeClaimRetentionPolicy")
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in items(spec, "volumeClaimTemplates"):
        _default_claim(claim)
    _default_template(spec)


def _default_daemon_set(body: Json) -> None:
    spec = made(body, "spec")
    spec.setdefault("revisionHistoryLimit", 10)
    _default_strategy(made(spec, "updateStrategy"), maxUnavailable=1, maxSurge=0)
    _default_template(spec)


def _default_cron_job(body: Json) -> None:
    spec = made(body, "spec")
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    if isinstance(spec.get("jobTemplate"), dict):
        # A template of jobs gets the defaults of pods now; the Job gets its own when it is created.
        _default_template(made(spec["jobTemplate"], "spec"))


def _default_job(body: Json) -> None:
    spec = made(body, "spec")
    _default_job_spec(spec)
    labels = part(spec, "template", "metadata", "labels")
    meta = made(body, "metadata")
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _default_job_spec(spec: Json) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    for rule in items(part(spec, "podFailurePolicy"), "rules"):
        for pattern in items(rule, "onPodConditions"):
            pattern.setdefault("status", "True")
    _default_template(spec)


# --- policies ------------------------------------------------------------------------------------


def _default_priority_class(body: Json) -> None:
    body.setdefault("value", 0)
    body.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _default_binding(body: Json) -> None:
    """Users and groups belong to the RBAC group, since no group serves them; service accounts are core."""
    if isinstance(body.get("roleRef"), dict) and not body["roleRef"].get("apiGroup"):
        body["roleRef"]["apiGroup"] = _RIGHTS
    for subject in items(body, "subjects"):
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _RIGHTS


def _default_definition(body: Json) -> None:
    spec = made(body, "spec")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    _default_service_port(part(conversion, "webhook", "clientConfig"))
    names = made(spec, "names")
    if kind := text_in(names, "kind"):
        for field, name in (("singular", kind.lower()), ("listKind", f"{kind}List")):
            if not names.get(field):
                names[field] = name


# --- what is kept for others ---------------------------------------------------------------------


def _default_resource_claim(body: Json) -> None:
    _default_requests(part(body, "spec"))


def _default_claim_template(body: Json) -> None:
    _default_requests(part(body, "spec", "spec"))


def _default_requests(spec: Json) -> None:
    for request in items(part(spec, "devices"), "requests"):
        exactly = [request["exactly"]] if isinstance(request.get("exactly"), dict) else []
        for asked in (*exactly, *items(request, "firstAvailable")):
            if not asked.get("allocationMode"):
                asked["allocationMode"] = "ExactCount"
            if asked["allocationMode"] == "ExactCount":
                asked.setdefault("count", 1)


def _default_endpoints(body: Json) -> None:
    for subset in items(body, "subsets"):
        for port in items(subset, "ports"):
            port.setdefault("protocol", "TCP")


def _default_endpoint_slice(body: Json) -> None:
    for port in items(body, "ports"):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _default_network_policy(body: Json) -> None:
    spec = made(body, "spec")
    for rule in (*items(spec, "ingress"), *items(spec, "egress")):
        for port in items(rule, "ports"):
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def _default_autoscaler(body: Json) -> None:
    """In v1 the conversion adds the metric: there, too, an autoscaler may have others."""
    spec = made(body, "spec")
    spec.setdefault("minReplicas", 1)
    if body.get("apiVersion") != "autoscaling/v1" and not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


# --- what extends a server -----------------------------------------------------------------------


def _default_service_port(config: Json) -> None:
    if isinstance(config.get("service"), dict):
        config["service"].setdefault("port", 443)


def _default_webhooks(body: Json) -> None:
    for hook in items(body, "webhooks"):
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("timeoutSeconds", 10)
        if body.get("kind") == "MutatingWebhookConfiguration":
            hook.setdefault("reinvocationPolicy", "Never")
        _default_matching(hook, "rules")
        _default_service_port(part(hook, "clientConfig"))


def _default_matching(matching: Json, *rules: str) -> None:
    matching.setdefault("matchPolicy", "Equivalent")
    for field in ("namespaceSelector", "objectSelector"):
        matching.setdefault(field, {})
    for name in rules:
        for rule in items(matching, name):
            rule.setdefault("scope", "*")


def _default_policy(body: Json) -> None:
    """A policy of admission, or its binding."""
    spec = made(body, "spec")
    if not text_in(body, "kind").endswith("Binding"):
        spec.setdefault("failurePolicy", "Fail")
    for field in ("matchConstraints", "matchResources"):
        if isinstance(spec.get(field), dict):
            _default_matching(spec[field], "resourceRules", "excludeResourceRules")


def _default_flow_schema(body: Json) -> None:
    spec = made(body, "spec")
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _default_priority_level(body: Json) -> None:
    for field, shares in (("exempt", 0), ("limited", 30)):
        if isinstance(level := part(body, "spec").get(field), dict):
            level.setdefault("nominalConcurrencyShares", shares)
            level.setdefault("lendablePercent", 0)
    queuing = part(body, "spec", "limited", "limitResponse").get("queuing")
    if isinstance(queuing, dict):
        for field, usual in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            queuing[field] = queuing.get(field) or usual


_DEFAULTS: Mapping[str, Callable[[Json], None]] = {
    "Namespace": _default_namespace,
    "Node": _default_node,
    "Pod": default_pod,
    "ConfigMap": _default_config_map,
    "Event": _default_event,
    "Secret": _default_secret,
    "Service": _default_service,
    "PersistentVolume": _default_volume,
    "PersistentVolumeClaim": _default_claim,
    "StorageClass": _default_storage_class,
    "CSIDriver": _default_driver,
    "CSIStorageCapacity": _default_capacity,
    "ResourceQuota": _default_quota,
    "LimitRange": _default_limit_range,
    "Deployment": _default_deployment,
    "ReplicaSet": _default_replica_set,
    "ReplicationController": _default_replication_controller,
    "StatefulSet": _default_stateful_set,
    "DaemonSet": _default_daemon_set,
    "Job": _default_job,
    "CronJob": _default_cron_job,
    "PriorityClass": _default_priority_class,
    "RoleBinding": _default_binding,
    "ClusterRoleBinding": _default_binding,
    "CustomResourceDefinition": _default_definition,
    "PodTemplate": _default_template,
    "Endpoints": _default_endpoints,
    "ResourceClaim": _default_resource_claim,
    "ResourceClaimTemplate": _default_claim_template,
    "EndpointSlice": _default_endpoint_slice,
    "NetworkPolicy": _default_network_policy,
    "HorizontalPodAutoscaler": _default_autoscaler,
    "ValidatingWebhookConfiguration": _default_webhooks,
    "MutatingWebhookConfiguration": _default_webhooks,
    "ValidatingAdmissionPolicy": _default_policy,
    "ValidatingAdmissionPolicyBinding": _default_policy,
    "MutatingAdmissionPolicy": _default_policy,
    "MutatingAdmissionPolicyBinding": _default_policy,
    "APIService": lambda body: _default_service_port(part(body, "spec")),
    "FlowSchema": _default_flow_schema,
    "PriorityLevelConfiguration": _default_priority_level,
}
