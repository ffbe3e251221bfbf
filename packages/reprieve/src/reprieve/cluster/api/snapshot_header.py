"""What does the first line of a snapshot file say, and can this version read the file?

The other lines are objects of the API, one each, and decisions.
"""

from reprieve.model.json import Json

API_VERSION, KIND = "reprieve.dev/v1alpha1", "ClusterSnapshot"
_GROUP, _DECISION = "reprieve.dev/", "Decision"


def version_refusal(header: Json) -> str | None:
    """Why a file with this header cannot be read: a sentence; None if it can."""
    version = header.get("apiVersion", API_VERSION)
    if version == API_VERSION:
        return None
    return (
        f"it is a {KIND} of version {version}, and this version of Reprieve reads {API_VERSION}: "
        "upgrade Reprieve, or save the snapshot with this version"
    )


def is_decision(kind: object, api_version: object) -> bool:
    """A file may have decisions of any version, as older schedulers wrote them."""
    return kind == _DECISION and isinstance(api_version, str) and api_version.startswith(_GROUP)


def lines_after(header: Json) -> int:
    """How many objects and decisions follow, as far as it says: fewer mean that the file is truncated."""
    counts = (header.get("objectCount"), header.get("decisionCount"))
    return sum(count for count in counts if isinstance(count, int))
