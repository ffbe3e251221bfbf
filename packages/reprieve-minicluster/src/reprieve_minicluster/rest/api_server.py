"""The API server without a socket: authenticates, routes, authorizes and handles a request.

Every refusal becomes a Status.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace

from reprieve.cluster.admission.features import DEFAULT_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.certificates import CertificateSubject
from reprieve_minicluster.auth.authentication import ANONYMOUS, AUTHENTICATED, TokenIssuer, UserInfo
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.api_call import ApiCall, ApiContext
from reprieve_minicluster.rest.authorization import attributes_of, authorize
from reprieve_minicluster.rest.handlers import handler
from reprieve_minicluster.rest.http_messages import (
    NOTHING,
    Answer,
    ApiRequest,
    ApiResponse,
    Batched,
    Subject,
    refusal,
    subject_of,
)
from reprieve_minicluster.rest.impersonation import impersonated
from reprieve_minicluster.rest.listing import PagedLists
from reprieve_minicluster.rest.non_resource_paths import (
    NO_OWN_PAGES,
    PUBLIC,
    OwnPages,
    Page,
    respond,
)
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.routes import NonResourcePath, ResourcePath, catalogue_of, route
from reprieve_minicluster.rest.serialization import serializer_of
from reprieve_minicluster.store import StorageError, Store


class ApiServer:
    """``secret`` signs the tokens of this cluster, and is the admin token."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        features: Features = DEFAULT_FEATURES,
        secret: str = "",
        own: OwnPages = NO_OWN_PAGES,
    ) -> None:
        self._own = own
        self._api = ApiContext(
            store, PagedLists(store), clock, features, RbacAuthorizer(store), TokenIssuer(secret)
        )
        self._features = features
        self._kinds = store.kinds
        self._catalogue = catalogue_of(features, store.kinds.values())

    def authenticate(
        self, path: str, headers: Mapping[str, str], certificate: CertificateSubject | None = None
    ) -> UserInfo:
        """The user of a request; an ApiError 401 without valid credentials, 400 or 403 for an impersonation
        that is malformed or forbidden.

        ``headers``: may be a multi-mapping. ``certificate``: the subject of a verified client certificate.
        """
        return impersonated(self._api.authorizer, self._sender(path, headers, certificate), headers)

    def _sender(
        self, path: str, headers: Mapping[str, str], certificate: CertificateSubject | None
    ) -> UserInfo:
        if certificate is not None:
            return UserInfo(certificate.name, (*certificate.groups, AUTHENTICATED))
        given = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
        if not given and path.strip("/").split("/")[0] in PUBLIC:
            return ANONYMOUS
        scheme, _, token = given.partition(" ")
        known = self._api.issuer.user_of(token.strip(), self._api.store, self._api.clock())
        if scheme.lower() != "bearer" or known is None:
            needed = "the request needs a bearer token or a client certificate of this cluster"
            raise ApiError(401, "Unauthorized", f"Unauthorized: {needed}")
        return known

    def answer(self, request: ApiRequest) -> Answer:
        place: ResourcePath | NonResourcePath = NonResourcePath(())
        self._refresh_kinds()
        try:
            place = route(request.path, self._catalogue)
            Query(request.query).check_timeout()
            if isinstance(place, NonResourcePath):
                return self._non_resource(place, request)
            authorize(self._api.authorizer, request.user, attributes_of(place, request))
            found = handler(place, request.method)(self._call(place, request))
        except (ApiError, StorageError) as error:
            return _refusal(place, error)
        return Batched(_refusing(place, found.batches)) if isinstance(found, Batched) else found

    def _refresh_kinds(self) -> None:
        """Pick up kinds of new or deleted CustomResourceDefinitions."""
        if self._api.store.kinds is not self._kinds:
            self._kinds = self._api.store.kinds
            self._catalogue = catalogue_of(self._features, self._kinds.values())

    def _non_resource(self, place: NonResourcePath, request: ApiRequest) -> Answer:
        if not place.steps or place.steps[0] not in PUBLIC:
            authorize(self._api.authorizer, request.user, attributes_of(place, request))
        page = self._own.pages.get(request.path)
        found = (
            self._page(page, request)
            if page is not None
            else respond(place, request, self._catalogue, self._own.probes)
        )
        if request.method != "GET":
            raise ApiError(
                405,
                "MethodNotAllowed",
                f"the server does not allow this method on the requested resource: {request.method}",
            )
        return found

    def _page(self, page: Page, request: ApiRequest) -> ApiResponse:
        def may_get(kind: str, namespace: str) -> bool:
            known = BY_NAME.get(kind)
            return known is not None and any(
                self._api.authorizer.allows(
                    request.user,
                    RequestAttributes("get", version.rpartition("/")[0], known.plural, "", namespace),
                )
                for version in known.served
            )

        try:
            content = page.content(request.query, may_get)
        except ValueError as error:
            raise bad_request(str(error)) from error
        return ApiResponse(200, content, content_type=page.content_type)

    def _call(self, place: ResourcePath, request: ApiRequest) -> ApiCall:
        query = Query(request.query)
        is_list = not place.name and request.method in ("GET", "DELETE")
        serializer = serializer_of(place, request, query, self._api.clock(), is_list=is_list)
        return ApiCall(self._api, place, request, query, serializer)


def _refusing(
    place: ResourcePath | NonResourcePath, batches: Generator[None, None, ApiResponse]
) -> Generator[None, None, ApiResponse]:
    try:
        return (yield from batches)
    except (ApiError, StorageError) as error:
        return _refusal(place, error)


def _refusal(place: ResourcePath | NonResourcePath, error: ApiError | StorageError) -> ApiResponse:
    if isinstance(error, ApiError):
        return refusal(error, _subject(place, error))
    return refusal(ApiError(507, "InsufficientStorage", f"the change could not be stored: {error}"))


def _subject(place: ResourcePath | NonResourcePath, error: ApiError) -> Subject:
    """A Status for an invalid object names its kind, any other the resource."""
    if isinstance(place, NonResourcePath):
        return NOTHING
    subject = subject_of(place.kind, place.name or error.name)
    return replace(subject, what=place.kind.kind) if error.status == 422 else subject
