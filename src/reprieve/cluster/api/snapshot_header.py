"""What does the first line of a snapshot file say, and can this version read the file?

The other lines are objects of the API, one each, and decisions. This module must not know how files are read.
"""

from reprieve.model.json import Json

API_VERSION, KIND, DECISION = "reprieve.dev/v1alpha1", "ClusterSnapshot", "Decision"


def refusal(header: Json) -> str | None:
    """Why a file with this header cannot be read: a sentence; None if it can."""
    version = header.get("apiVersion", API_VERSION)
    if version == API_VERSION:
        return None
    return (
        f"it is a {KIND} of version {version}, and this version of Reprieve reads {API_VERSION}: "
        "upgrade Reprieve, or save the snapshot with this version"
    )


def lines_after(header: Json) -> int:
    """How many objects and decisions follow, as far as it says: fewer mean that the file is truncated."""
    counts = (header.get("objectCount"), header.get("decisionCount"))
    return sum(count for count in counts if isinstance(count, int))
