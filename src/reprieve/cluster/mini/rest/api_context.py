"""What request handlers share: the store, the authorizer, and admission of every write."""

from dataclasses import dataclass, replace

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.apiserver.admission import AdmissionRequest, Features, Operation
from reprieve.cluster.apiserver.custom_resources import Definition
from reprieve.cluster.mini.admission import admitted_request
from reprieve.cluster.mini.auth.authentication import TokenIssuer
from reprieve.cluster.mini.auth.authorizer import RbacAuthorizer
from reprieve.cluster.mini.kinds import StatusSubresource
from reprieve.cluster.mini.rest.listing import PagedLists
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.cluster.mini.store import Store
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class ApiContext:
    store: Store
    lists: PagedLists
    clock: Clock
    features: Features
    authorizer: RbacAuthorizer
    issuer: TokenIssuer

    def dry_run(self) -> "ApiContext":
        """The same context over a store that writes nothing."""
        return replace(self, store=self.store.dry_run())

    def admit_new(self, place: ResourcePath, new: Json) -> Json:
        return self._admit(place, Operation.CREATE, new, None)

    def admit_change(self, place: ResourcePath, new: Json, old: Json) -> Json:
        return self._admit(place, Operation.UPDATE, new, old)

    def _admit(self, place: ResourcePath, operation: Operation, new: Json, old: Json | None) -> Json:
        """The admitted object, still in the client's API version; an ApiError if it is refused."""
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
            features=self.features,
        )
        return admitted_request(self.store, request, _definition(place))


def _definition(place: ResourcePath) -> Definition | None:
    kind = place.kind
    if kind.custom is None:
        return None
    return Definition(
        kind.custom.schemas[place.version], kind.namespaced, kind.status is StatusSubresource.APART
    )
