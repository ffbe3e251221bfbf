"""What does an object that exists become when a manifest is applied to it, and what differs then?

Plain JSON values. Fields that the manifest leaves out stay, unless an earlier `kubectl apply` had set them.
"""

import json
from collections.abc import Iterable, Iterator

import msgspec

from reprieve.cluster.admission.defaults import default
from reprieve.cluster.admission.features import Features
from reprieve.cluster.api.codec import decode_value
from reprieve.cluster.api.rollouts import scaled
from reprieve.cluster.api.values import means_the_same, part, text_in
from reprieve.model.formatting import counted
from reprieve.model.json import Json
from reprieve.model.objects import Pod, PodDisruptionBudget, Ref, runs
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(old: Json, new: Json) -> Json:
    """Lists are replaced. The server's own metadata, and the status, stay as they are."""
    told = part(old, "metadata", "annotations").get(_LAST_APPLIED)
    try:
        last = json.loads(told) if isinstance(told, str) else {}
    except ValueError:
        last = {}
    sent = {**new, "metadata": {k: v for k, v in part(new, "metadata").items() if k != "uid"}}
    return _merged(old, {k: v for k, v in sent.items() if k != "status"}, last)


def _merged(old: Json, new: Json, last: object) -> Json:
    removed = last.keys() - new.keys() if isinstance(last, dict) else set()
    merged = {k: v for k, v in old.items() if k not in removed or k in ("status", "apiVersion", "kind")}
    for key, value in new.items():
        before = old.get(key)
        known = last.get(key) if isinstance(last, dict) else None
        merged[key] = value
        if isinstance(value, dict) and isinstance(before, dict):
            merged[key] = _merged(before, value, known)
    return merged


def defaulted(body: Json, features: Features) -> Json:
    copy: Json = msgspec.json.decode(msgspec.json.encode(body))
    default(copy, text_in(copy, "apiVersion").rpartition("/")[2], features)
    return copy


# --- what differs --------------------------------------------------------------------------------


_MOST_PATHS = 3
_TEMPLATE = "spec.template."


def changes_of(old: Json, new: Json) -> tuple[str, ...]:
    """In words: of the pod template, of the number of pods, and of other fields of the spec."""
    paths = [*_changed(part(old, "spec"), part(new, "spec"), "spec")]
    template = [path.removeprefix(_TEMPLATE) for path in paths if path.startswith(_TEMPLATE)]
    found = [f"the pod template ({_listed(template)})"] if template else []
    had, has = part(old, "spec").get("replicas"), part(new, "spec").get("replicas")
    if had != has and isinstance(had, int) and isinstance(has, int):
        found.append(f"the number of replicas ({has} instead of {had})")
    known = (_TEMPLATE, "spec.replicas")
    return (*found, *(path for path in paths if not path.startswith(known)))


def _listed(paths: list[str]) -> str:
    more = len(paths) - _MOST_PATHS
    return ", ".join(paths[:_MOST_PATHS]) + (f" and {counted(more, 'more field')}" if more > 0 else "")


def _changed(old: object, new: object, path: str) -> Iterator[str]:
    match old, new:
        case dict(), dict():
            for key in dict.fromkeys((*old, *new)):
                if not means_the_same({key: old.get(key)}, {key: new.get(key)}):
                    yield from _changed(old.get(key), new.get(key), f"{path}.{key}")
        case list(), list() if len(old) == len(new):
            for number, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from _changed(one, other, f"{path}[{number}]")
        case _ if not means_the_same(old, new):
            yield path


# --- budgets -------------------------------------------------------------------------------------


def budget_status(body: Json, pods: Iterable[Pod]) -> Json:
    """As the disruption controller would write it; all that runs counts as healthy and as expected."""
    decoded = decode_value(body)
    budget = getattr(decoded, "object", None)
    if not isinstance(budget, PodDisruptionBudget):
        return {}
    unreported = Problems(Ref(kind="", namespace="", name=""))
    selector = compile_selector(budget.spec.selector, "", unreported)
    space = budget.metadata.namespace
    own = [
        p for p in pods if p.metadata.namespace == space and selector.matches(p.metadata.labels) and runs(p)
    ]
    healthy = sum(bool(p.spec.node_name) and p.metadata.deletion_timestamp is None for p in own)
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is not None:
        desired = len(own) - (scaled(most, len(own), round_up=True) or 0)
    else:
        desired = scaled(least, len(own), round_up=True) or 0 if least is not None else 0
    allowed = max(0, healthy - max(0, desired)) if own else 0
    return {
        "currentHealthy": healthy,
        "desiredHealthy": max(0, desired),
        "expectedPods": len(own),
        "disruptionsAllowed": allowed,
        "observedGeneration": part(body, "metadata").get("generation", 0),
    }
