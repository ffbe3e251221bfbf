"""The door for those who live in the cluster: what a controller makes is admitted like what a client sends."""

from collections.abc import Iterator

from reprieve.cluster.api.admission import Features, Operation, Refusal, Request, admit
from reprieve.cluster.mini.errors import ApiError, Cause
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import BY_NAME, BY_RESOURCE, Json, Kind, peek
from reprieve.cluster.mini.spelling import stored_form
from reprieve.cluster.mini.store import Store, parsed


class StoreLookup:
    """What admission reads of others."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._store.find(Key(BY_NAME[kind].resource, namespace, name))
        return parsed(found) if found is not None else None

    def all(self, kind: str) -> Iterator[Json]:
        return map(parsed, self._store.list((BY_NAME[kind].resource,)).items)


def admitted(store: Store, resource: str, body: Json, features: Features) -> Json:
    """A new object as it is to be stored; an ApiError when it is refused."""
    kind = BY_RESOURCE[resource]
    api_version = str(body.get("apiVersion") or kind.api_version)
    group, _, version = api_version.rpartition("/")
    namespace = str(peek(body, "metadata").get("namespace") or "")
    request = Request(
        Operation.CREATE, group, version, kind.kind, body, namespace=namespace, features=features
    )
    answer = admit(request, StoreLookup(store))
    match answer:
        case dict():
            return stored_form(kind, api_version, answer)
        case Refusal(reason, sentence):
            raise ApiError(404 if reason == "NotFound" else 403, reason, sentence)
        case errors:
            causes = tuple(Cause(error.reason.cause, error.message, error.path) for error in errors)
            raise _invalid(kind, body, causes)


def _invalid(kind: Kind, body: Json, causes: tuple[Cause, ...]) -> ApiError:
    name = peek(body, "metadata").get("name") or ""
    complaints = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
    return ApiError(422, "Invalid", f'{kind.kind} "{name}" is invalid: {complaints}', causes)
