"""Health checks, and how a probe such as /livez tells their results."""

from collections.abc import Iterable

HealthCheck = tuple[str, str]  # its name, and what is wrong; empty if nothing is


def probe(name: str, checks: Iterable[HealthCheck], *, verbose: bool) -> tuple[bool, str]:
    """Whether all checks pass, and the text of the answer; ``name``: that of the probe, as in livez."""
    results = list(checks)
    passes = not any(wrong for _, wrong in results)
    if passes and not verbose:
        return True, "ok"
    lines = [f"[-]{check} failed: {wrong}" if wrong else f"[+]{check} ok" for check, wrong in results]
    return passes, "\n".join([*lines, f"{name} check {'passed' if passes else 'failed'}", ""])
