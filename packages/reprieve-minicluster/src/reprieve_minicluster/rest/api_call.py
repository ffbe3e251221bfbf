"""What request handlers share: the store, the authorizer, admission, and the request itself."""

from dataclasses import dataclass, replace

from reprieve.cluster.admission.admission import AdmissionRequest, Features, Operation
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import name_of, part, text_in
from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted_request
from reprieve_minicluster.auth.authentication import TokenIssuer, UserInfo
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.listing import PagedLists
from reprieve_minicluster.rest.managed_fields.ownership import FieldManager
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.rest.serialization import ObjectSerializer
from reprieve_minicluster.store import Store
from reprieve_minicluster.webhooks.calls import Webhooks
from reprieve_minicluster.webhooks.client import WebhookClient
from reprieve_minicluster.webhooks.matching import ReviewedRequest
from reprieve_minicluster.webhooks.policies import is_reviewed, mutated, validate
from reprieve_minicluster.webhooks.reviews import RequestOrigin

_CERTIFICATES = "certificatesigningrequests.certificates.k8s.io"


@dataclass(frozen=True, slots=True)
class ApiContext:
    store: Store
    lists: PagedLists
    clock: Clock
    features: Features
    authorizer: RbacAuthorizer
    issuer: TokenIssuer
    client: WebhookClient

    def dry_run(self) -> "ApiContext":
        """A context over a store that writes nothing."""
        return replace(self, store=self.store.dry_run())


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One routed request: its resource path, its parameters, and how to serialize the response."""

    api: ApiContext
    place: ResourcePath
    request: ApiRequest
    query: Query
    serializer: ObjectSerializer
    origin: RequestOrigin

    @property
    def webhooks(self) -> Webhooks:
        return self.origin.webhooks

    @property
    def chosen(self) -> ApiContext:
        """The context to write with; on a dry run one that writes nothing."""
        return self.api.dry_run() if self.query.is_dry_run else self.api

    def admit_new(self, new: Json) -> Json:
        if self.place.kind.resource == _CERTIFICATES:
            new = {**new, "spec": {**peek(new, "spec"), **described(self.request.user)}}
        return self._admit(Operation.CREATE, new, None)

    def admit_change(self, new: Json, old: Json) -> Json:
        return self._admit(Operation.UPDATE, new, old)

    def _admit(self, operation: Operation, new: Json, old: Json | None) -> Json:
        """The admitted object, still in the client's API version; an ApiError if it is refused."""
        place = self.place
        request = AdmissionRequest(
            operation,
            place.group,
            place.version,
            place.kind.kind,
            new,
            old,
            namespace=place.namespace,
            name=place.name,
            subresource=place.part if place.part != "scale" else "",
            features=self.api.features,
        )
        # A change of scale was reviewed as such.
        origin = self.origin if place.part != "scale" else None
        return admitted_request(self.chosen.store, request, place.kind, origin)

    def reviewed(self, operation: str, new: Json | None, old: Json | None = None) -> Json | None:
        """A deletion, which has nothing ``new``, or the typed body of a subresource, as webhooks leave it.

        An ApiError if they or policies refuse it.
        """
        place = self.place
        if not is_reviewed(place.kind, self.api.store):
            return new
        name = place.name or name_of(old or new or {})
        namespace = text_in(part(old or {}, "metadata"), "namespace") or place.namespace
        request = ReviewedRequest(
            operation, place.kind, place.api_version, place.part, namespace, name, new, old
        )
        changed = mutated(request, self.origin)
        validate(changed, self.origin)
        return changed.new

    @property
    def ownership(self) -> FieldManager:
        return FieldManager(self.place, self.request, self.api.clock())


def described(user: UserInfo) -> Json:
    extra = {key: list(values) for key, values in user.extra.items()}
    info: Json = {"username": user.name, "groups": list(user.groups), "uid": user.uid, "extra": extra}
    return {name: value for name, value in info.items() if value}
