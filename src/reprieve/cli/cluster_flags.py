"""Which cluster does a command ask about: that of files, or of a live server?

The flags that all such commands share, and the cluster that they name. A cluster that cannot be read ends the
command with a sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from reprieve.inquiry.cluster_objects import ClusterObjects

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ClusterFlags:
    """``files``: without any, the live server. ``policy``: the name of a policy or a file; empty: default."""

    files: tuple[str, ...] = ()
    context: str = ""
    kubeconfig: str = ""
    namespace: str = ""  # -n; empty if it was not given: see namespace_of
    all_namespaces: bool = False
    policy: str = ""
    feature_gates: str = ""


def cluster_flags(command: F) -> F:
    """Adds --from, --context, --kubeconfig, -n, -A, --policy, --feature-gates; the command gets them as its
    argument ``cluster``, a ClusterFlags."""
    raise NotImplementedError


def cluster_of(flags: ClusterFlags) -> ClusterObjects:
    """Reads the cluster, with progress on stderr. Its notes are for the command to show."""
    raise NotImplementedError


def namespace_of(flags: ClusterFlags) -> str:
    """-n, or the namespace of the context of the kubeconfig, or "default"; for files, -n or "default"."""
    raise NotImplementedError
