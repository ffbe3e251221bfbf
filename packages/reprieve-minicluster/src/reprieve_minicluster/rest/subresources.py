"""The subresources scale, binding, token and eviction: what they validate, and what they write."""

from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import texts
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector
from reprieve_minicluster.auth.authentication import AUDIENCES
from reprieve_minicluster.errors import ApiError, Cause, bad_request, conflict, invalid
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.kinds.cells import at
from reprieve_minicluster.rest.api_call import ApiCall
from reprieve_minicluster.rest.delete_handlers import DeleteOptions, delete_options_from, remove
from reprieve_minicluster.rest.field_validation import check_types
from reprieve_minicluster.rest.http_messages import ApiResponse, answer, success
from reprieve_minicluster.rest.patches import Change, change_of
from reprieve_minicluster.rest.request_bodies import media_type, read_object
from reprieve_minicluster.rest.routes import ResourcePath, check_type, path_not_found
from reprieve_minicluster.rest.write_handlers import written
from reprieve_minicluster.store import Key, Part, Store, Stored, check_preconditions, parsed
from reprieve_minicluster.store.conditions import StatusCondition, set_condition_of
from reprieve_minicluster.store.metadata import metadata_of
from reprieve_minicluster.store.scheduler_calls import bind

SCALE_VERSION = "autoscaling/v1"
_MOST = 2**31 - 1


def get_scale(call: ApiCall) -> ApiResponse:
    return answer(_scale_of(call, call.api.store.get(call.place.key)))


def replace_scale(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    return _scaled(call, lambda _: body)


def patch_scale(call: ApiCall) -> ApiResponse:
    return _scaled(call, change_of(call.place.kind, media_type(call.request), call.request.body))


def _scaled(call: ApiCall, change: Change) -> ApiResponse:
    before = _scale_of(call, call.api.store.get(call.place.key))
    scale = change(before)
    check_type(scale, SCALE_VERSION, "Scale")
    scale = call.reviewed("UPDATE", {**scale, "apiVersion": SCALE_VERSION, "kind": "Scale"}, before) or scale
    replicas = _replicas(scale)
    meta = metadata_of(scale) if "metadata" in scale else {}
    if meta.get("name") not in (None, "", call.place.name):
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({call.place.name})"
        )
    conditions = {name: meta[name] for name in ("uid", "resourceVersion") if name in meta}
    places = _places(call.place)

    def resized(old: Json) -> Json:
        kept = {k: v for k, v in old["metadata"].items() if k not in ("uid", "resourceVersion")}
        return _with(places.wanted, {**old, "metadata": {**kept, **conditions}}, replicas)

    return answer(_scale_of(call, written(call, resized)))


def _replicas(scale: Json) -> int:
    replicas = peek(scale, "spec").get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or not 0 <= replicas <= _MOST:
        raise invalid("Scale", "spec.replicas", f"expected a number from 0 to {_MOST}, got {replicas!r}")
    return replicas


def _scale_of(call: ApiCall, stored: Stored) -> Json:
    body, places = call.serializer.value(stored), _places(call.place)
    meta, wanted, there = body["metadata"], at(body, places.wanted), at(body, places.there)
    selector = at(body, places.selector) if places.selector else ""
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: meta[name] for name in names if name in meta},
        "spec": {"replicas": wanted if isinstance(wanted, int) else places.usual},
        "status": {
            "replicas": there if isinstance(there, int) else 0,
            "selector": _selector(selector) if isinstance(selector, dict) else str(selector or ""),
        },
    }


@dataclass(frozen=True, slots=True)
class _Places:
    """Paths of the wanted replicas, the actual ones, and the selector. ``usual``: the default replicas."""

    wanted: str = "spec.replicas"
    there: str = "status.replicas"
    selector: str = "spec.selector"
    usual: int = 1


def _places(place: ResourcePath) -> _Places:
    """The definition of a custom kind has its paths; a version without them has no scale."""
    if place.kind.custom is None:
        return _Places()
    said = place.kind.custom.scales.get(place.version)
    if not said:
        raise path_not_found()
    names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    wanted, there, selector = (str(said.get(name) or "").lstrip(".") for name in names)
    return _Places(wanted, there, selector, usual=0)


def _with(path: str, body: Json, value: int) -> Json:
    first, _, rest = path.partition(".")
    return {**body, first: _with(rest, peek(body, first), value) if rest else value}


def _selector(selector: Json) -> str:
    """The selector as a string, which autoscalers parse."""
    # The selector of a ReplicationController is a mapping of labels.
    plain = "matchLabels" not in selector and "matchExpressions" not in selector
    found = selector if plain else peek(selector, "matchLabels")
    labels = [f"{key}={value}" for key, value in sorted(found.items())]
    expressions = selector.get("matchExpressions")
    terms = expressions if isinstance(expressions, list) else []
    return ",".join([*labels, *(_expression(e) for e in terms if isinstance(e, dict))])


def _expression(expression: Json) -> str:
    key, values = expression.get("key"), expression.get("values") or []
    match expression.get("operator"):
        case "Exists":
            return f"{key}"
        case "DoesNotExist":
            return f"!{key}"
        case operator:
            word = "notin" if operator == "NotIn" else "in"
            return f"{key} {word} ({','.join(map(str, values))})"


# --- binding --------------------------------------------------------------------------------------


def create_binding(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    check_type(body, "v1", "Binding")
    key = _pod(call, metadata_of(body) if "metadata" in body or not call.place.name else {})
    node, annotations = _node(peek(body, "target")), _annotations(peek(body, "metadata"))
    api = call.chosen
    stored = api.store.get(key)
    call.reviewed("CREATE", {**body, "apiVersion": "v1", "kind": "Binding"})
    if assigned := peek(parsed(stored), "spec").get("nodeName"):
        raise conflict(str(key), f'it is already assigned to node "{assigned}"')
    uid = str(peek(body, "metadata").get("uid") or "")
    bind(api.store, Target("Pod", key.namespace, key.name, uid or stored.uid), node, api.clock())
    if annotations:
        api.store.patch(key, lambda pod: _annotated(pod, annotations), Part.MAIN)
    return answer(success(code=201), 201)


def _pod(call: ApiCall, meta: Json) -> Key:
    """The key of the pod, from the URL or else from the body; if both name it, they must agree."""
    name = call.place.name or meta.get("name")
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    if meta.get("name") not in (None, "", name):
        raise bad_request(
            f"the name in the binding ({meta['name']}) does not match the name on the URL ({name})"
        )
    if meta.get("namespace") not in (None, "", call.place.namespace):
        raise bad_request(
            f"the namespace in the binding ({meta['namespace']}) does not match the namespace on the URL "
            f"({call.place.namespace})"
        )
    return Key(call.place.kind.resource, call.place.namespace, name)


def _node(target: Json) -> str:
    if target.get("kind") not in (None, "", "Node"):
        raise invalid("Binding", "target.kind", f"supported value: Node, not {target.get('kind')!r}")
    name = target.get("name")
    if not isinstance(name, str) or not name:
        raise invalid("Binding", "target.name", "expected the name of a node")
    return name


def _annotations(meta: Json) -> Json:
    """Annotations of the binding, which are copied to the pod."""
    annotations = peek(meta, "annotations")
    if not all(isinstance(text, str) for text in annotations.values()):
        raise bad_request("the annotations of a binding must be strings")
    return annotations


def _annotated(pod: Json, annotations: Json) -> Json:
    section(section(pod, "metadata"), "annotations").update(annotations)
    return pod


# --- token ----------------------------------------------------------------------------------------


_SHORTEST, _LONGEST, _USUAL = 600, 1 << 32, 3600  # seconds
_TOKEN_REQUEST = "authentication.k8s.io/v1"


def create_token(call: ApiCall) -> ApiResponse:
    account = call.api.store.get(call.place.key)
    body = read_object(call.request)
    check_type(body, _TOKEN_REQUEST, "TokenRequest")
    check_types(_TOKEN_REQUEST, "TokenRequest", body)
    spec = peek(body, "spec")
    seconds = spec.get("expirationSeconds", _USUAL)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not _SHORTEST <= seconds <= _LONGEST:
        raise invalid("TokenRequest", "spec.expirationSeconds", f"expected {_SHORTEST} to {_LONGEST} seconds")
    if spec.get("boundObjectRef"):
        raise ApiError(
            422, "Invalid", "TokenRequest is invalid: spec.boundObjectRef: not supported by the mini cluster"
        )
    until = call.api.clock() + seconds
    audiences = list(texts(spec, "audiences")) or list(AUDIENCES)
    token = call.api.issuer.account_token(account.key, account.uid, until, audiences)
    status = {"token": token, "expirationTimestamp": stamp(until)}
    head = {"kind": "TokenRequest", "apiVersion": _TOKEN_REQUEST, "metadata": peek(body, "metadata")}
    said = {**spec, "audiences": audiences, "expirationSeconds": seconds}
    return answer({**head, "spec": said, "status": status}, 201)


_BUDGETS = "poddisruptionbudgets.policy"
_CAUSE = "DisruptionBudget"
_MOST_DISRUPTED = 2000
_COUNTED_SOON = 10  # seconds
_TARGET = StatusCondition("DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting")
_SELECTOR = msgspec.json.Decoder(LabelSelector | None)


def create_eviction(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    _check_head(body, call.place.name)
    call.reviewed("CREATE", {"apiVersion": "policy/v1", "kind": "Eviction", **body})
    options = delete_options_from(peek(body, "deleteOptions"), call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    pod = store.get(call.place.key)
    check_preconditions(pod, options.uid, options.version)
    evict_within_budget(store, pod, options, call.api.clock())
    return answer(success(code=201), 201)


def _check_head(body: Json, name: str) -> None:
    if body.get("kind") not in (None, "", "Eviction"):
        raise bad_request(f"the body of an eviction must be an Eviction, not {body['kind']!r}")
    if body.get("apiVersion") not in (None, "", "policy/v1", "policy/v1beta1"):
        raise bad_request(f"an Eviction must be of policy/v1, not {body['apiVersion']!r}")
    said = peek(body, "metadata").get("name")
    if said != name:
        raise bad_request(
            f"metadata.name of the eviction ({said!r}) does not match the name on the URL ({name!r})"
        )
    if not isinstance(body.get("deleteOptions", {}), dict):
        raise bad_request("deleteOptions of an eviction must be an object")


def evict_within_budget(store: Store, stored: Stored, options: DeleteOptions, now: float) -> None:
    """An ApiError 429 if a budget forbids it. The budget records the eviction before the pod is deleted."""
    pod = parsed(stored)
    budget = _guard(store, stored, pod)
    if budget is not None and not _is_excess(budget, pod):
        _check(budget)
        store.patch(budget.stored.key, lambda body: _granted(body, stored.key.name, now), Part.STATUS)
    if not options.dry_run:
        store.patch(stored.key, lambda body: _marked(body, now), Part.STATUS)
    remove(store, stored, DeleteOptions(options.grace, options.policy, stored.uid))


@dataclass(frozen=True, slots=True)
class _Budget:
    stored: Stored
    body: Json

    @property
    def name(self) -> str:
        return self.stored.key.name

    def count(self, field: str) -> int:
        value = peek(self.body, "status").get(field)
        return value if isinstance(value, int) else 0

    @property
    def is_counted(self) -> bool:
        """Whether its status observes the current generation."""
        generation = self.body["metadata"].get("generation", 0)
        return isinstance(generation, int) and self.count("observedGeneration") >= generation


def _guard(store: Store, stored: Stored, pod: Json) -> _Budget | None:
    """The budget of a pod; None for a pod that is pending, terminating or finished, which needs none."""
    phase = peek(pod, "status").get("phase")
    if phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]:
        return None
    labels = peek(pod["metadata"], "labels")
    listed = store.list((_BUDGETS,), stored.key.namespace).items
    guards = [b for b in (_Budget(item, parsed(item)) for item in listed) if _selects(b.body, labels)]
    if len(guards) > 1:
        names = ", ".join(guard.name for guard in guards)
        message = (
            f"{stored.key}: This pod has more than one PodDisruptionBudget ({names}), "
            "which the eviction subresource does not support."
        )
        raise ApiError(409, "Conflict", message)
    return guards[0] if guards else None


def _selects(budget: Json, labels: Json) -> bool:
    """A malformed selector selects nothing."""
    raw = msgspec.json.encode(peek(budget, "spec").get("selector"))
    problems = Problems(Ref(kind="PodDisruptionBudget", namespace="", name=""))
    try:
        selector = compile_selector(_SELECTOR.decode(raw), "spec.selector", problems)
    except msgspec.ValidationError:
        return False
    return not problems.found and selector.matches(labels)


def _is_excess(budget: _Budget, pod: Json) -> bool:
    """Whether an unready pod may go: enough healthy pods remain, or the budget always allows it."""
    conditions = peek(pod, "status").get("conditions")
    ready = any(
        isinstance(c, dict) and c.get("type") == "Ready" and c.get("status") == "True"
        for c in (conditions if isinstance(conditions, list) else ())
    )
    if ready:
        return False
    if peek(budget.body, "spec").get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return budget.count("currentHealthy") >= budget.count("desiredHealthy") > 0


def _check(budget: _Budget) -> None:
    if not budget.is_counted:
        why = f"The disruption budget {budget.name} is still being processed by the server."
        raise _too_many(why, retry_after=_COUNTED_SOON)
    disrupted = peek(peek(budget.body, "status"), "disruptedPods")
    if len(disrupted) > _MOST_DISRUPTED:
        why = f"The disruption budget {budget.name} has too many evictions in progress."
        raise ApiError(403, "Forbidden", why, (Cause(_CAUSE, why),))
    if budget.count("disruptionsAllowed") <= 0:
        needed, healthy = budget.count("desiredHealthy"), budget.count("currentHealthy")
        raise _too_many(
            f"The disruption budget {budget.name} needs {needed} healthy pods and has {healthy} currently"
        )


def _too_many(why: str, retry_after: int | None = None) -> ApiError:
    """Without Retry-After when a budget is exhausted: it is unknown when a retry could succeed."""
    message = f"Cannot evict pod as it would violate the pod's disruption budget. {why}"
    return ApiError(429, "TooManyRequests", message, (Cause(_CAUSE, why),), retry_after)


def _granted(body: Json, pod: str, now: float) -> Json:
    status = section(body, "status")
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    section(status, "disruptedPods")[pod] = stamp(now)
    if status["disruptionsAllowed"] == 0:
        set_condition_of(body, StatusCondition("DisruptionAllowed", "False", "InsufficientPods"), now)
    return body


def _marked(body: Json, now: float) -> Json:
    set_condition_of(body, _TARGET, now)
    return body
