"""What those who answer a request work with, and the door through which every write goes."""

from dataclasses import dataclass, replace

from reprieve.cluster.api.admission import Features, Operation, Refusal, RefusalReason, admit
from reprieve.cluster.api.admission import Request as Admission
from reprieve.cluster.mini.admitted import StoreLookup
from reprieve.cluster.mini.errors import ApiError, Cause
from reprieve.cluster.mini.kinds import Json
from reprieve.cluster.mini.rest.reading import Lists
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.timestamps import Clock


@dataclass(frozen=True, slots=True)
class Api:
    store: Store
    lists: Lists
    clock: Clock
    features: Features

    def rehearsing(self) -> "Api":
        """The same, and nothing stays written."""
        return replace(self, store=self.store.rehearsal())

    def admit_new(self, place: Place, new: Json) -> Json:
        return self._admit(place, Operation.CREATE, new, None)

    def admit_change(self, place: Place, new: Json, old: Json) -> Json:
        return self._admit(place, Operation.UPDATE, new, old)

    def _admit(self, place: Place, operation: Operation, new: Json, old: Json | None) -> Json:
        """The object as it is to be stored, still in the client's spelling; an ApiError if it is refused."""
        request = Admission(
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
        answer = admit(request, StoreLookup(self.store))
        match answer:
            case dict():
                return answer
            case Refusal(reason, sentence):
                status = 404 if reason is RefusalReason.NOT_FOUND else 403
                raise ApiError(status, reason.value, sentence)
            case errors:
                causes = tuple(Cause(e.reason.cause, e.message, e.path) for e in errors)
                raise _invalid(place, new, causes)


def _invalid(place: Place, new: Json, causes: tuple[Cause, ...]) -> ApiError:
    meta = new.get("metadata")
    name = place.name or (meta.get("name", "") if isinstance(meta, dict) else "")
    complaints = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    told = complaints[0] if len(complaints) == 1 else f"[{', '.join(complaints)}]"
    error = ApiError(422, "Invalid", f'{place.kind.kind} "{name}" is invalid: {told}', causes)
    error.name = str(name)
    return error
