"""Which values do the fields have that a pod, or a template of one, leaves out? No value is overwritten.

A value of the wrong type is left for validation to reject.
"""

from collections.abc import Iterable, Iterator

from reprieve.cluster.admission.validation.resources import is_huge, pod_totals
from reprieve.cluster.admission.validation.volumes import VOLUME_TYPES
from reprieve.cluster.api.values import amount_of, items, made, part, sized, text_in, texts, written
from reprieve.model.json import Json

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATION_SECONDS = 300
GRACE_SECONDS = 30

_FILE_MODE = 0o644
_HANDLERS = ("livenessProbe", "readinessProbe", "startupProbe")
_TERMS = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


# --- templates -----------------------------------------------------------------------------------


def default_pod_spec(spec: Json) -> None:
    _default_account(spec)
    _fill(spec, "dnsPolicy", "ClusterFirst")
    _fill(spec, "restartPolicy", "Always")
    _fill(spec, "schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    for container in _containers(spec):
        _default_container(container)
    for volume in items(spec, "volumes"):
        _default_volume(volume)
    _size(spec, "overhead")
    for field in ("requests", "limits"):
        _size(part(spec, "resources"), field)


def _fill(body: Json, field: str, value: object) -> None:
    """An empty text counts as absent."""
    if body.get(field) in (None, ""):
        body[field] = value


def _default_account(spec: Json) -> None:
    name = text_in(spec, "serviceAccountName") or text_in(spec, "serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _containers(spec: Json) -> Iterator[Json]:
    yield from items(spec, "containers")
    yield from items(spec, "initContainers")


def _default_container(container: Json) -> None:
    _fill(container, "imagePullPolicy", _pull_policy(text_in(container, "image")))
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    for field in ("requests", "limits"):
        _size(part(container, "resources"), field)
    for port in items(container, "ports"):
        _fill(port, "protocol", "TCP")
    for probe in (container[name] for name in _HANDLERS if isinstance(container.get(name), dict)):
        _default_probe(probe)
    for variable in items(container, "env"):
        if reference := part(variable, "valueFrom", "fieldRef"):
            reference.setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _size(body: Json, field: str) -> None:
    """Quantities may be sent as numbers, and are stored as text."""
    for name, quantity in part(body, field).items():
        body[field][name] = sized(quantity)


def _default_probe(probe: Json) -> None:
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    for field, value in numbers.items():
        if not probe.get(field):
            probe[field] = value
    if isinstance(probe.get("httpGet"), dict):
        _fill(probe["httpGet"], "path", "/")
        _fill(probe["httpGet"], "scheme", "HTTP")


def _default_volume(volume: Json) -> None:
    if not volume.keys() & VOLUME_TYPES:
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", _FILE_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if claim := part(volume, "ephemeral", "volumeClaimTemplate", "spec"):
        _fill(claim, "volumeMode", "Filesystem")


# --- pods ----------------------------------------------------------------------------------------


def default_pod(pod: Json) -> None:
    spec = made(pod, "spec")
    default_pod_spec(spec)
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in _containers(spec):
        _requests_from_limits(container)
        if spec.get("hostNetwork") is True:
            _host_ports(container)
    spec.setdefault("enableServiceLinks", True)


def _requests_from_limits(container: Json) -> None:
    limits = part(container, "resources", "limits")
    if limits:
        requests = made(container["resources"], "requests")
        for name, limit in limits.items():
            requests.setdefault(name, limit)


def _host_ports(container: Json) -> None:
    for port in items(container, "ports"):
        if not port.get("hostPort") and "containerPort" in port:
            port["hostPort"] = port["containerPort"]


def default_pod_resources(spec: Json) -> None:
    """A pod with resources of its own gets those that it leaves out from the sums of its containers."""
    resources = part(spec, "resources")
    if not part(resources, "requests") and not part(resources, "limits"):
        return
    requests, limits = made(resources, "requests"), made(resources, "limits")
    limited = pod_totals(spec, "limits")
    for name in filter(is_huge, limited):
        if name not in requests:
            limits.setdefault(name, written(limited[name]))
    for name, amount in pod_totals(spec, "requests").items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, written(amount))
    for name, limit in limits.items():
        requests.setdefault(name, limit)
    for name in _limited_by_all(spec, requests):
        asked = amount_of(requests[name], otherwise=0)
        limits.setdefault(name, written(max(asked, limited[name])))
    for field in ("requests", "limits"):
        if resources[field] == {}:
            del resources[field]


def _limited_by_all(spec: Json, names: Iterable[str]) -> list[str]:
    """Those of these resources for which every container has a limit."""
    lists = ("containers", "initContainers", "ephemeralContainers")
    all_limits = [part(c, "resources", "limits") for field in lists for c in items(spec, field)]
    return [name for name in names if all_limits and all(name in limits for limits in all_limits)]


def default_tolerations(spec: Json) -> None:
    """A pod stays on a failed node for a while, unless it has tolerations of its own for that."""
    for key in (NOT_READY, UNREACHABLE):
        if not any(_covers(toleration, key) for toleration in items(spec, "tolerations")):
            tolerations = spec.setdefault("tolerations", [])
            if isinstance(tolerations, list):
                tolerations.append(
                    {
                        "key": key,
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": TOLERATION_SECONDS,
                    }
                )


def _covers(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def merge_label_keys(pod: Json) -> None:
    """matchLabelKeys and mismatchLabelKeys become expressions of the selector, with the pod's own labels."""
    labels = part(pod, "metadata", "labels")
    spec = part(pod, "spec")
    for constraint in items(spec, "topologySpreadConstraints"):
        _merge(constraint, "matchLabelKeys", "In", labels)
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = part(spec, "affinity", kind)
        preferred = (part(weighted, "podAffinityTerm") for weighted in items(affinity, _TERMS[1]))
        for term in (*items(affinity, _TERMS[0]), *preferred):
            _merge(term, "matchLabelKeys", "In", labels)
            _merge(term, "mismatchLabelKeys", "NotIn", labels)


def _merge(term: Json, field: str, operator: str, labels: Json) -> None:
    if not isinstance(term.get("labelSelector"), dict):
        return
    for key in texts(term, field):
        if key not in labels:
            continue
        expression = {"key": key, "operator": operator, "values": [labels[key]]}
        expressions = term["labelSelector"].setdefault("matchExpressions", [])
        if isinstance(expressions, list) and expression not in expressions:
            expressions.append(expression)
