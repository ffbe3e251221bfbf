"""How is a cluster read once from its API server, with nothing but list requests?

A kind that may not be listed is a note, and the rest is read. It must not know the questions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reprieve.inquiry.cluster_objects import ClusterObjects


class ClusterReadingError(Exception):
    """The cluster cannot be read: one sentence."""


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """``expected``: how many there are, as far as the server has said."""

    read: int
    expected: int


def _ignore(progress: ReadingProgress) -> None:
    pass


async def read_cluster(
    kubeconfig: str, context: str, progress: Callable[[ReadingProgress], None] = _ignore
) -> ClusterObjects:
    """Both as of kubectl; empty: the usual files, the current context. A ClusterReadingError if no answer."""
    raise NotImplementedError


def current_namespace(kubeconfig: str, context: str) -> str:
    """The namespace of the context, or "default"; a ClusterReadingError if the kubeconfig cannot be read."""
    raise NotImplementedError
