"""Which requests and limits may containers, pods and claims of a namespace have, and which by default?

The admission plugin ``LimitRanger`` of Kubernetes. The ranges of a namespace apply one after another.
"""

from collections.abc import Iterator, Mapping

from reprieve.cluster.api.values import amount_of, items, made, name_of, part, text_in
from reprieve.cluster.apiserver.admission_plugins import AdmissionRefusal, Lookup, RefusalReason
from reprieve.cluster.apiserver.quotas import shown, total
from reprieve.model.json import Json

NOTE = "kubernetes.io/limit-ranger"
_PLURALS = {"Pod": "pods", "PersistentVolumeClaim": "persistentvolumeclaims"}
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))


def _ranges(body: Json, lookup: Lookup) -> list[Json]:
    namespace = text_in(part(body, "metadata"), "namespace")
    found = lookup.all("LimitRange")
    return [r for r in found if text_in(part(r, "metadata"), "namespace") == namespace]


# --- defaults ------------------------------------------------------------------------------------


def default_from_ranges(pod: Json, lookup: Lookup) -> None:
    notes = [note for limits in _ranges(pod, lookup) for note in _filled(pod, limits)]
    if notes:
        annotations = made(made(pod, "metadata"), "annotations")
        annotations[NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _filled(pod: Json, limits: Json) -> Iterator[str]:
    for limit in items(part(limits, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        for field, word in _CONTAINERS:
            for container in items(part(pod, "spec"), field):
                yield from _filled_container(container, limit, word)


def _filled_container(container: Json, limit: Json, word: str) -> Iterator[str]:
    resources = made(container, "resources")
    for field, source, said in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        missing = {k: v for k, v in part(limit, source).items() if k not in part(resources, field)}
        if missing:
            made(resources, field).update(missing)
            yield f"{', '.join(sorted(missing))} {said} for {word} {text_in(container, 'name')}"


# --- bounds --------------------------------------------------------------------------------------


def range_refusal(kind: str, body: Json, lookup: Lookup) -> AdmissionRefusal | None:
    for limits in _ranges(body, lookup):
        found = [w for limit in items(part(limits, "spec"), "limits") for w in _violations(kind, body, limit)]
        if found:
            told = found[0] if len(found) == 1 else f"[{', '.join(dict.fromkeys(found))}]"
            sentence = f'{_PLURALS[kind]} "{name_of(body)}" is forbidden: {told}'
            return AdmissionRefusal(RefusalReason.FORBIDDEN, sentence)
    return None


def _violations(kind: str, body: Json, limit: Json) -> Iterator[str]:
    spec, type_ = part(body, "spec"), text_in(limit, "type")
    match kind, type_:
        case "PersistentVolumeClaim", "PersistentVolumeClaim":
            requests = _quantities(part(spec, "resources", "requests"))
            yield from _too_little(type_, limit, requests, {})
            yield from _claim_too_large(type_, limit, requests)
        case "Pod", "Container":
            for field, _ in _CONTAINERS:
                for container in items(spec, field):
                    resources = part(container, "resources")
                    asked, most = (_quantities(part(resources, f)) for f in ("requests", "limits"))
                    yield from _out_of_bounds(type_, limit, asked, most)
        case "Pod", "Pod":
            bare = {name: value for name, value in spec.items() if name != "overhead"}
            yield from _out_of_bounds(type_, limit, total(bare, "requests"), total(bare, "limits"))


def _quantities(found: Json) -> dict[str, int]:
    return {name: amount_of(quantity, otherwise=0) for name, quantity in found.items()}


_Amounts = Mapping[str, int]


def _out_of_bounds(type_: str, limit: Json, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    yield from _too_little(type_, limit, requests, limits)
    yield from _too_much(type_, limit, requests, limits)
    yield from _too_uneven(type_, limit, requests, limits)


def _too_little(type_: str, limit: Json, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    for name, quantity in part(limit, "min").items():
        least, rule = amount_of(quantity, otherwise=0), f"minimum {name} usage per {type_} is {quantity}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] < least:
            yield f"{rule}, but request is {shown(name, requests[name])}"
        elif limits.get(name, least) < least:
            yield f"{rule}, but limit is {shown(name, limits[name])}"


def _too_much(type_: str, limit: Json, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    for name, quantity in part(limit, "max").items():
        most, rule = amount_of(quantity, otherwise=0), f"maximum {name} usage per {type_} is {quantity}"
        if name not in limits:
            yield f"{rule}.  No limit is specified"
        elif limits[name] > most:
            yield f"{rule}, but limit is {shown(name, limits[name])}"
        elif requests.get(name, most) > most:
            yield f"{rule}, but request is {shown(name, requests[name])}"


def _claim_too_large(type_: str, limit: Json, requests: _Amounts) -> Iterator[str]:
    for name, quantity in part(limit, "max").items():
        most, rule = amount_of(quantity, otherwise=0), f"maximum {name} usage per {type_} is {quantity}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] > most:
            yield f"{rule}, but request is {shown(name, requests[name])}"


def _too_uneven(type_: str, limit: Json, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    for name, quantity in part(limit, "maxLimitRequestRatio").items():
        rule = f"{name} max limit to request ratio per {type_} is {quantity}, but"
        asked, most = requests.get(name, 0), limits.get(name, 0)
        if not asked:
            yield f"{rule} no request is specified or request is 0"
        elif not most:
            yield f"{rule} no limit is specified or limit is 0"
        elif most * 1000 > asked * amount_of(quantity, otherwise=0):
            yield f"{rule} provided ratio is {most / asked:f}"
