"""The limit on nesting: deeper values could be decoded, but would exhaust the stack of recursive code."""

from reprieve_minicluster.errors import ApiError, bad_request

DEEPEST = 100


def check_depth(value: object) -> None:
    """Level by level, since a recursive check would itself exhaust the stack."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            below
            for item in level
            if isinstance(item, dict | list)
            for below in (item.values() if isinstance(item, dict) else item)
            if isinstance(below, dict | list)
        ]
        if not level:
            return
    raise too_deep()


def too_deep() -> ApiError:
    return bad_request(f"the body is nested deeper than {DEEPEST} levels")
