"""How the API says no: the HTTP status and reason that Kubernetes gives, and a sentence."""


class ApiError(Exception):
    """A refused request."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


def not_found(what: str) -> ApiError:
    return ApiError(404, "NotFound", f"{what} does not exist")


def already_exists(what: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f"{what} exists already")


def conflict(what: str, why: str) -> ApiError:
    return ApiError(409, "Conflict", f"{what}: {why}")


def expired(version: int, oldest: int) -> ApiError:
    message = f"resourceVersion {version} is too old: the history that is kept begins at {oldest}; list again"
    return ApiError(410, "Expired", message)


def invalid(what: str, path: str, expected: str) -> ApiError:
    return ApiError(422, "Invalid", f"{what}: {path}: {expected}")
