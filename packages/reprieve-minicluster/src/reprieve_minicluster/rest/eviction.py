"""The eviction subresource: deletes a pod if its PodDisruptionBudget allows it."""

from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector
from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.rest.api_call import ApiCall
from reprieve_minicluster.rest.delete_handlers import DeleteOptions, delete_options_from, remove
from reprieve_minicluster.rest.http_messages import ApiResponse, answer, success
from reprieve_minicluster.rest.request_bodies import read_object
from reprieve_minicluster.store import Part, Store, Stored, check_preconditions, parsed
from reprieve_minicluster.store.conditions import StatusCondition, set_condition_of

_BUDGETS = "poddisruptionbudgets.policy"
_CAUSE = "DisruptionBudget"
_MOST_DISRUPTED = 2000
_COUNTED_SOON = 10  # seconds
_TARGET = StatusCondition("DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting")
_SELECTOR = msgspec.json.Decoder(LabelSelector | None)


def create_eviction(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    _check_head(body, call.place.name)
    options = delete_options_from(peek(body, "deleteOptions"), call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    pod = store.get(call.place.key)
    check_preconditions(pod, options.uid, options.version)
    evict(store, pod, options, call.api.clock())
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


def evict(store: Store, stored: Stored, options: DeleteOptions, now: float) -> None:
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
