"""Errors of the API: the HTTP status and reason that Kubernetes gives, and a message."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an error, and the field that has it."""

    reason: str
    message: str
    field: str = ""


class ApiError(Exception):
    """A refused request. ``retry_after``: seconds after which a retry may succeed."""

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
        # Of the object that is invalid, where the URL does not name it.
        self.name = ""
        # A token with which a client can continue an expired list, at the newest version.
        self.continue_token = ""


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def not_found(what: str) -> ApiError:
    return ApiError(404, "NotFound", f"{what} not found")


def already_exists(what: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f"{what} already exists")


def conflict(what: str, why: str) -> ApiError:
    return ApiError(409, "Conflict", f"Operation cannot be fulfilled on {what}: {why}")


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def expired(version: int, oldest: int) -> ApiError:
    message = f"too old resource version: {version} ({oldest}): list again"
    return ApiError(410, "Expired", message)


def invalid(what: str, path: str, expected: str) -> ApiError:
    cause = Cause("FieldValueInvalid", expected, path)
    return ApiError(422, "Invalid", f"{what} is invalid: {path}: {expected}", (cause,))
