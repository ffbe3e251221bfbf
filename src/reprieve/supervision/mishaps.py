"""How an unexpected exception is logged: every one of them, with what failed and its traceback."""

import logging

_log = logging.getLogger(__name__)


def log_mishap(what: str, error: BaseException, retry_in: float | None = None) -> None:
    """``what``: the component, its step, and the object if there is one."""
    then = "" if retry_in is None else f"; retrying in {retry_in:g} s"
    _log.error("%s failed: %s%s", what, description_of(error), then, exc_info=error)


def description_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
