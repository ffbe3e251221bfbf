"""Responses of kind ``Status``: success and failure."""

from dataclasses import dataclass

from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import ResourceKind
from reprieve.cluster.mini.rest.http_messages import ApiResponse, answer
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Subject:
    """The details of a Status; ``what`` is a resource such as pods, or a kind."""

    name: str = ""
    group: str = ""
    what: str = ""
    uid: str = ""


NOTHING = Subject()


def subject_of(kind: ResourceKind, name: str, uid: str = "") -> Subject:
    return Subject(name, kind.group, kind.plural, uid)


def success(subject: Subject = NOTHING, code: int | None = None) -> Json:
    """As in Kubernetes, creations have a code and deletions have none."""
    details = _details(subject)
    said = {"details": details or None, "code": code}
    return {**_HEAD, "status": "Success", **{name: value for name, value in said.items() if value}}


def failure(error: ApiError, subject: Subject = NOTHING) -> Json:
    causes = [_cause(cause.reason, cause.message, cause.field) for cause in error.causes]
    return {
        **_HEAD,
        "metadata": {"continue": error.continue_token} if error.continue_token else {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        # Always present: some clients read them without a check.
        "details": _details(subject, causes, error.retry_after),
        "code": error.status,
    }


def refusal(error: ApiError, subject: Subject = NOTHING) -> ApiResponse:
    body = answer(failure(error, subject), error.status)
    if error.retry_after is None:
        return body
    return ApiResponse(body.status, body.body, headers={"Retry-After": str(error.retry_after)})


_HEAD: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}}


def _cause(reason: str, message: str, field: str) -> Json:
    cause = {"reason": reason, "message": message, "field": field}
    return {name: text for name, text in cause.items() if text}


def _details(subject: Subject, causes: list[Json] | None = None, retry_after: int | None = None) -> Json:
    details = {
        "name": subject.name,
        "group": subject.group,
        "kind": subject.what,
        "uid": subject.uid,
        "causes": causes,
        "retryAfterSeconds": retry_after,
    }
    return {name: value for name, value in details.items() if value}
