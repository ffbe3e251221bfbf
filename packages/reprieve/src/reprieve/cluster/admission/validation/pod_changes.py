"""What may an update change of a pod (hardly anything), and what may a resize (cpu and memory alone)?"""

from copy import deepcopy
from typing import Any

import msgspec

from reprieve.cluster.admission.field_errors import At
from reprieve.cluster.admission.marks import rule
from reprieve.cluster.admission.validation.placement import REQUIRED
from reprieve.cluster.admission.validation.resources import quality_class
from reprieve.cluster.api.values import items, made, means_the_same, part, text_in
from reprieve.model.json import Json

_MIRROR = "kubernetes.io/config.mirror"  # marks the mirror of a static pod
_CONTAINERS = ("containers", "initContainers")
_MUTABLE = "images, activeDeadlineSeconds, tolerations (which may be added) and schedulingGates (removed)"


# --- updates -------------------------------------------------------------------------------------


@rule
def check_pod_change(pod: At, old: Json) -> None:
    spec, before = pod["spec"], part(old, "spec")
    if spec.value == before or not spec.is_object() or not _check_same_containers(spec, before, "updates"):
        return
    _check_deadline(spec["activeDeadlineSeconds"], before.get("activeDeadlineSeconds"))
    _check_tolerations(spec["tolerations"], before)
    _check_gates(spec["schedulingGates"], before)
    gated = bool(before.get("schedulingGates"))
    if gated:
        _check_narrowed(spec, before)
    if changed := ", ".join(_changes(spec.value, before, gated)):
        spec.forbid(f"an update must change nothing but {_MUTABLE}; it changes {changed}")


def _check_same_containers(spec: At, before: Json, what: str) -> bool:
    """Whether the containers have the same names, in the same order."""
    found = len(spec.errors)
    for field in _CONTAINERS:
        names = [text_in(c, "name") for c in items(spec.value, field)]
        old_names = [text_in(c, "name") for c in items(before, field)]
        if len(names) != len(old_names):
            spec[field].forbid(f"{what} must not add or remove containers")
        elif names != old_names:
            spec[field].forbid(f"{what} must not rename or reorder containers")
    return len(spec.errors) == found


def _check_deadline(deadline: At, before: object) -> None:
    """activeDeadlineSeconds can be added and shortened."""
    if not isinstance(before, int):
        return
    if not deadline.given:
        deadline.invalid("must not be removed")
    elif (seconds := deadline.integer()) is not None and seconds > before:
        deadline.invalid(f"must not be more than it was, {before}")


def _check_tolerations(tolerations: At, before: Json) -> None:
    present = {_without_seconds(t) for t in items({"": tolerations.value}, "")}
    if any(_without_seconds(old) not in present for old in items(before, "tolerations")):
        tolerations.forbid("those that are there must stay as they are, but for tolerationSeconds")


def _without_seconds(toleration: Json) -> bytes:
    """Equal for equal ones."""
    kept = {name: value for name, value in toleration.items() if name != "tolerationSeconds"}
    return msgspec.json.encode(kept, order="deterministic")


def _check_gates(gates: At, before: Json) -> None:
    known = {text_in(gate, "name") for gate in items(before, "schedulingGates")}
    for gate in gates.items():
        if gate["name"].text() not in known:
            gate["name"].forbid("must not be added: gates can only be removed")


def _fixed(spec: Json, before: Json, gated: bool) -> Json:
    """A spec in which every mutable field has its old value."""
    fixed = dict(spec)
    for field in _CONTAINERS:
        pairs = list(zip(items(spec, field), items(before, field), strict=False))
        if pairs:
            fixed[field] = [{**container, "image": old.get("image")} for container, old in pairs]
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _restore(fixed, before, field)
    if gated:
        _restore(fixed, before, "nodeSelector")
        _restore_node_affinity(fixed, before)
    return fixed


def _restore(spec: Json, before: Json, field: str) -> None:
    if field in before:
        spec[field] = before[field]
    else:
        spec.pop(field, None)


def _restore_node_affinity(spec: Json, before: Json) -> None:
    affinity = dict(part(spec, "affinity"))
    _restore(affinity, part(before, "affinity"), "nodeAffinity")
    spec["affinity"] = affinity
    if not affinity and "affinity" not in before:
        del spec["affinity"]


def _changes(spec: Json, before: Json, gated: bool) -> list[str]:
    """The immutable fields that differ."""
    fixed = _fixed(spec, before, gated)
    fields = sorted({*fixed, *before})
    changed = (
        field for field in fields if not means_the_same({field: fixed.get(field)}, {field: before.get(field)})
    )
    return [f"spec.{field}" for field in changed]


# --- pods that are held back ---------------------------------------------------------------------


def _check_narrowed(spec: At, before: Json) -> None:
    """While a pod has scheduling gates, its node affinity can be narrowed, never widened."""
    selector = part(spec.value, "nodeSelector")
    if any(selector.get(key) != value for key, value in part(before, "nodeSelector").items()):
        spec["nodeSelector"].invalid("must keep what it has: only additions are allowed")
    old = list(items(part(before, "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms"))
    terms = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    new = list(items({"": terms.value}, ""))
    if old and len(new) != len(old):
        terms.invalid("must keep its terms: none can be added or removed")
    elif not all(_narrows(term, was) for term, was in zip(new, old, strict=False)):
        terms.invalid("must keep what its terms have: only additions are allowed")


def _narrows(term: Json, old: Json) -> bool:
    """An empty term matches nothing, and adding to it would widen it."""
    if not any(old.get(field) for field in ("matchExpressions", "matchFields")):
        return means_the_same(term, old)
    return all(
        list(items(term, field))[: len(was)] == was
        for field in ("matchExpressions", "matchFields")
        if (was := list(items(old, field)))
    )


# --- resizes -------------------------------------------------------------------------------------


def resized(new: Json, old: Json) -> Json:
    """The stored pod with the resources that were sent; a resize ignores all other fields."""
    pod: Json = deepcopy(old)
    spec, sent = made(pod, "spec"), part(new, "spec")
    for field in _CONTAINERS:
        containers, wanted = list(items(spec, field)), list(items(sent, field))
        if [text_in(c, "name") for c in containers] != [text_in(c, "name") for c in wanted]:
            _restore(spec, sent, field)  # for validation to reject
            continue
        for container, source in zip(containers, wanted, strict=True):
            _restore(container, source, "resources")
            _restore(container, source, "resizePolicy")
    if sent.get("resources") or ("resources" in sent and "resources" in spec):
        spec["resources"] = deepcopy(sent["resources"])
    return pod


def check_resize(pod: At, old: Json) -> None:
    spec, before = pod["spec"], part(old, "spec")
    if _MIRROR in part(old, "metadata", "annotations"):
        spec.forbid("static pods cannot be resized")
        return
    if text_in(part(before, "os"), "name") == "windows":
        spec.forbid("windows pods cannot be resized")
        return
    if not spec.is_object() or not _check_same_containers(spec, before, "resizes"):
        return
    if quality_class(spec.value) != quality_class(before):
        spec.invalid(f"a resize must not change the quality of service, which is {quality_class(before)}")
    if not _is_resizable(old):
        spec.forbid("the node of the pod does not support resizes")
    _check_resources(spec["resources"], before.get("resources"), "the pod")
    for field in _CONTAINERS:
        for container, was in zip(spec[field].items(), items(before, field), strict=False):
            _check_resources(container["resources"], was.get("resources"), container["name"].text())
            _check_restartable(container, was, sidecars_only=field == "initContainers")


def _is_resizable(pod: Json) -> bool:
    """A kubelet that supports resizes reports the resources that containers have."""
    for status in items(part(pod, "status"), "containerStatuses"):
        if part(status, "state").get("running") is not None:
            return "resources" in status
    return True


def _check_resources(resources: At, before: Any, whose: str) -> None:
    for field in ("requests", "limits"):
        amounts, was = part(resources.value, field), part(before, field)
        if was.keys() - amounts.keys():
            resources[field].forbid(f"a resize must not remove {field} of {whose}")
        elif any(
            not means_the_same({"limits": {name: amounts[name]}}, {"limits": {name: was.get(name)}})
            for name in amounts
            if name not in ("cpu", "memory")
        ):
            resources[field].forbid("a resize must change nothing but cpu and memory")
    if not means_the_same(part(resources.value).get("claims"), part(before).get("claims")):
        resources["claims"].forbid("a resize must change nothing but cpu and memory")


def _check_restartable(container: At, was: Json, sidecars_only: bool) -> None:
    changed = not means_the_same(container["resources"].value, was.get("resources"))
    restarts = any(p.get("restartPolicy") == "RestartContainer" for p in items(was, "resizePolicy"))
    if not means_the_same(container["resizePolicy"].value or None, was.get("resizePolicy") or None):
        container["resizePolicy"].forbid("a resize must change nothing but cpu and memory")
    if sidecars_only and changed and restarts and was.get("restartPolicy") != "Always":
        container["resources"].forbid("an init container that would have to be restarted cannot be resized")
