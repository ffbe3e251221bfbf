"""From a request to its answer, and from whatever is refused to a Status. No socket is needed to ask it."""

from collections.abc import Mapping
from dataclasses import replace

from reprieve.cluster.api.features import DEFAULT_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.mini.disk import DiskError
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.rest.api import Api
from reprieve.cluster.mini.rest.authorizing import act_of, check, impersonated
from reprieve.cluster.mini.rest.exchange import Answer, Request
from reprieve.cluster.mini.rest.pages import PUBLIC, page
from reprieve.cluster.mini.rest.query import Query
from reprieve.cluster.mini.rest.reading import Lists
from reprieve.cluster.mini.rest.routes import Page, Place, catalogue_of, route
from reprieve.cluster.mini.rest.statuses import NOTHING, Subject, refusal, subject_of
from reprieve.cluster.mini.rest.verbs import handler
from reprieve.cluster.mini.rest.views import view_of
from reprieve.cluster.mini.rest.writing import Call
from reprieve.cluster.mini.rights.roles import Rights
from reprieve.cluster.mini.rights.users import AUTHENTICATED, NOBODY, Issuer, User
from reprieve.cluster.mini.store import Store


class Front:
    """``secret`` signs the tokens of this cluster, and is that of the one who owns it."""

    def __init__(
        self, store: Store, clock: Clock, features: Features = DEFAULT_FEATURES, secret: str = ""
    ) -> None:
        self._api = Api(store, Lists(store), clock, features, Rights(store), Issuer(secret))
        self._features = features
        self._kinds = store.kinds
        self._catalogue = catalogue_of(features, store.kinds.values())

    def who(self, path: str, headers: Mapping[str, str], shown: CertificateSubject | None = None) -> User:
        """Who asks; an ApiError 401 for strangers, and 403 for those who speak for others and may not.

        ``shown``: what a certificate says that counts here.
        """
        if shown is not None:
            user = User(shown.name, (*shown.groups, AUTHENTICATED))
            return impersonated(self._api.rights, user, headers)
        given = headers.get("Authorization", "")
        if not given and path.strip("/").split("/")[0] in PUBLIC:
            return NOBODY
        scheme, _, token = given.partition(" ")
        known = self._api.issuer.user_of(token.strip(), self._api.store, self._api.clock())
        if scheme.lower() != "bearer" or known is None:
            needed = "the request needs a bearer token or a client certificate of this cluster"
            raise ApiError(401, "Unauthorized", f"Unauthorized: {needed}")
        return impersonated(self._api.rights, known, headers)

    def answer(self, request: Request) -> Answer:
        place: Place | Page = Page(())
        self._look_around()
        try:
            place = route(request.path, self._catalogue)
            if isinstance(place, Page):
                return self._page(place, request)
            check(self._api.rights, request.user, act_of(place, request))
            return handler(place, request.method)(self._call(place, request))
        except ApiError as error:
            return refusal(error, _subject(place, error))
        except DiskError as error:
            return refusal(ApiError(507, "InsufficientStorage", f"nothing was changed: {error}"))

    def _look_around(self) -> None:
        """Somebody may have defined a kind, or withdrawn one."""
        if self._api.store.kinds is not self._kinds:
            self._kinds = self._api.store.kinds
            self._catalogue = catalogue_of(self._features, self._kinds.values())

    def _page(self, place: Page, request: Request) -> Answer:
        if not place.steps or place.steps[0] not in PUBLIC:
            check(self._api.rights, request.user, act_of(place, request))
        found = page(place, request, self._catalogue)
        if request.method != "GET":
            raise ApiError(405, "MethodNotAllowed", f"the server does not allow {request.method} on a page")
        return found

    def _call(self, place: Place, request: Request) -> Call:
        query = Query(request.query)
        is_list = not place.name and request.method in ("GET", "DELETE")
        view = view_of(place, request, query, self._api.clock(), is_list=is_list)
        return Call(self._api, place, request, query, view)


def _subject(place: Place | Page, error: ApiError) -> Subject:
    """What is invalid is named by its kind, and everything else by its resource."""
    if isinstance(place, Page):
        return NOTHING
    subject = subject_of(place.kind, place.name or error.name)
    return replace(subject, what=place.kind.kind) if error.status == 422 else subject
