"""In which version is JSON printed? `-o json` prints today's, `-o json=v1alpha1` the one before."""

OLDER = "v1alpha1"
OLDER_FORMATS = (f"json={OLDER}", f"yaml={OLDER}")


def format_and_version(output: str) -> tuple[str, str]:
    """Of a value of `-o`: json or yaml, and the apiVersion of what is printed."""
    from reprieve.scheduler.decision_document import API_VERSION
    from reprieve.scheduler.older_decisions import V1ALPHA1

    name, _, version = output.partition("=")
    return name, V1ALPHA1 if version == OLDER else API_VERSION
