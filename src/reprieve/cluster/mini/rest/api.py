"""What those who answer a request work with, and the door through which every write goes."""

from dataclasses import dataclass, replace

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.apiserver.admission import AdmissionRequest, Features, Operation
from reprieve.cluster.apiserver.custom_resources import Definition
from reprieve.cluster.mini.admitted import admitted_request
from reprieve.cluster.mini.kinds import Status
from reprieve.cluster.mini.rest.reading import Lists
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.rights.roles import Rights
from reprieve.cluster.mini.rights.users import Issuer
from reprieve.cluster.mini.store import Store
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Api:
    store: Store
    lists: Lists
    clock: Clock
    features: Features
    rights: Rights
    issuer: Issuer

    def rehearsing(self) -> "Api":
        """The same, and nothing stays written."""
        return replace(self, store=self.store.rehearsal())

    def admit_new(self, place: Place, new: Json) -> Json:
        return self._admit(place, Operation.CREATE, new, None)

    def admit_change(self, place: Place, new: Json, old: Json) -> Json:
        return self._admit(place, Operation.UPDATE, new, old)

    def _admit(self, place: Place, operation: Operation, new: Json, old: Json | None) -> Json:
        """The object as it is to be stored, still in the client's spelling; an ApiError if it is refused."""
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


def _definition(place: Place) -> Definition | None:
    kind = place.kind
    if kind.custom is None:
        return None
    return Definition(kind.custom.schemas[place.version], kind.namespaced, kind.status is Status.APART)
