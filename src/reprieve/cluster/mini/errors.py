"""How the API says no: the HTTP status and reason that Kubernetes gives, and a sentence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong, and with which field."""

    reason: str
    message: str
    field: str = ""


class ApiError(Exception):
    """A refused request. ``retry_after``: seconds after which to ask again may help."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        causes: tuple[Cause, ...] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after = retry_after
        # Of the object that is wrong, where the URL does not tell.
        self.name = ""
        # With which token a list can be gone on with that is too old to be finished as it was begun.
        self.go_on = ""


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def not_found(what: str) -> ApiError:
    return ApiError(404, "NotFound", f"{what} not found")


def already_exists(what: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f"{what} already exists")


def conflict(what: str, why: str) -> ApiError:
    return ApiError(409, "Conflict", f"{what}: {why}")


def expired(version: int, oldest: int) -> ApiError:
    message = f"resourceVersion {version} is too old: the history that is kept begins at {oldest}; list again"
    return ApiError(410, "Expired", message)


def invalid(what: str, path: str, expected: str) -> ApiError:
    cause = Cause("FieldValueInvalid", expected, path)
    return ApiError(422, "Invalid", f"{what} is invalid: {path}: {expected}", (cause,))
