"""A request as webhooks and expressions see it: an AdmissionRequest, and conditions on it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from reprieve.cluster.admission.cel import Rule, UnreadError, read
from reprieve.cluster.admission.cel_rules import PARSING_STEPS, RULE_STEPS
from reprieve.cluster.admission.cel_values import CostBudget, CostError, Patterns, SenselessError
from reprieve.model.json import Json
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.errors import ApiError, Cause
from reprieve_minicluster.kinds import ResourceKind, conversion
from reprieve_minicluster.store import Key, parsed
from reprieve_minicluster.store.metadata import Identity
from reprieve_minicluster.webhooks.calls import Webhooks
from reprieve_minicluster.webhooks.conversion import converted
from reprieve_minicluster.webhooks.matching import ReviewedRequest

REVIEW_STEPS = 2_000_000  # for all expressions of webhooks and policies about one request
_NAMES = ("object", "oldObject", "request", "namespaceObject", "params", "variables")


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """Who makes a request, and what is known of it so far. ``warnings``: those of reviews, for the client.

    ``identity``: that of a new object, if it was begun before and waited for webhooks.
    """

    user: Json
    webhooks: Webhooks
    dry_run: bool = False
    identity: Identity | None = None
    warnings: list[str] = field(default_factory=list)
    budget: CostBudget = field(default_factory=lambda: CostBudget(REVIEW_STEPS, "the review of a request"))


def in_version(
    request: ReviewedRequest, body: Json | None, api_version: str, origin: RequestOrigin
) -> Json | None:
    """An object of the request in another version of its kind."""
    if body is None or not request.has_own_type or api_version == request.api_version:
        return body
    return between_versions(request.kind, body, request.api_version, api_version, origin.webhooks)


def between_versions(kind: ResourceKind, body: Json, source: str, target: str, webhooks: Webhooks) -> Json:
    if kind.converted_by_webhook:
        return converted(kind, target, body, webhooks)
    return conversion.to_version(kind, target, conversion.to_storage_version(kind, source, body))


def admission_request(request: ReviewedRequest, api_version: str, origin: RequestOrigin) -> Json:
    """Without the objects. ``api_version``: in which they are sent."""
    own = request.has_own_type
    requested_version, requested_kind = request.type
    return {
        "kind": _kind(api_version if own else requested_version, requested_kind),
        "resource": _resource(request, api_version),
        "requestKind": _kind(requested_version, requested_kind),
        "requestResource": _resource(request, request.api_version),
        **(
            {"subResource": request.subresource, "requestSubResource": request.subresource}
            if request.subresource
            else {}
        ),
        "name": request.name,
        "namespace": request.name if request.is_of_namespace else request.namespace,
        "operation": request.operation,
        "userInfo": origin.user,
        "dryRun": origin.dry_run,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{request.operation.title()}Options"},
    }


def _kind(api_version: str, kind: str) -> Json:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _resource(request: ReviewedRequest, api_version: str) -> Json:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "resource": request.kind.plural}


# --- expressions ----------------------------------------------------------------------------------


class ExpressionError(Exception):
    """An expression that cannot be evaluated, or whose evaluation costs too much."""


class _Lazy(dict[str, object]):
    """Values that are made when they are first asked for."""

    def __init__(self, make: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(dict.fromkeys(make))
        self._make = dict(make)

    def __getitem__(self, name: str) -> object:
        make = self._make.pop(name, None)  # taken before: one that asks for itself gets nothing
        if make is not None:
            try:
                self[name] = make()
            except SenselessError:
                self._make[name] = make
                raise
        return super().__getitem__(name)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Evaluates expressions about one request."""

    names: Mapping[str, object]
    origin: RequestOrigin
    patterns: Patterns = field(default_factory=Patterns)

    @classmethod
    def about(cls, request: ReviewedRequest, api_version: str, origin: RequestOrigin) -> "Expressions":
        """``api_version``: in which the expressions read the objects."""
        found = origin.webhooks.store.find(Key("namespaces", "", request.namespace))
        names: dict[str, object] = dict.fromkeys(_NAMES)
        names |= {
            "object": in_version(request, request.new, api_version, origin),
            "oldObject": in_version(request, request.old, api_version, origin),
            "request": admission_request(request, api_version, origin),
            "namespaceObject": parsed(found) if found is not None else None,
        }
        return cls(names, origin)

    def with_params(self, params: Json | None, variables: Iterable[tuple[str, str]]) -> "Expressions":
        """``variables``: their names and expressions; one may use those before it."""
        names = {**self.names, "params": params}
        inner = Expressions(names, self.origin, self.patterns)
        names["variables"] = _Lazy({name: _evaluation(inner, text) for name, text in variables})
        return inner

    def value(self, text: str) -> object:
        budget = self.origin.budget
        own = CostBudget(RULE_STEPS, "it")
        try:
            budget.spend(PARSING_STEPS * len(text))
            expression = parsed_expression(text)
            if isinstance(expression, UnreadError):
                raise ExpressionError(f"not understood by the mini cluster: {expression}")
            found = expression(self.names, own, self.patterns)
            budget.spend(own.spent)
        except (CostError, SenselessError) as error:
            raise ExpressionError(str(error)) from error
        return found

    def all_hold(self, conditions: Iterable[str]) -> bool:
        """An ExpressionError only if no condition is known to be false."""
        failure: ExpressionError | None = None
        for text in conditions:
            try:
                if self.value(text) is not True:
                    return False
            except ExpressionError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return True


def _evaluation(expressions: Expressions, text: str) -> Callable[[], object]:
    def made() -> object:
        try:
            return expressions.value(text)
        except ExpressionError as error:
            raise SenselessError(str(error)) from error

    return made


@cached_by_text(entries=512, size=1 << 20)
def parsed_expression(text: str) -> Rule | UnreadError:
    try:
        return read(text, _NAMES)
    except UnreadError as error:
        return error.with_traceback(None)  # which would keep the frames of the parser


def refused_by_review(
    request: ReviewedRequest, why: str, status: int = 403, reason: str = "Forbidden"
) -> ApiError:
    what = f"{request.kind.plural}.{request.kind.group}" if request.kind.group else request.kind.plural
    message = f'{what} "{request.name}" is forbidden: {why}'
    error = ApiError(status, reason, message, (Cause("", why),))  # of a 422, kubectl shows the causes only
    error.name = request.name
    return error
