"""Which names of recent decisions does a client of a replica see? The API server reviews its rights."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from reprieve.assembly.decision_pages import AskedDecisions, page_of
from reprieve.cluster.kube.access_reviews import NamespacedKind
from reprieve.inquiry.decision_list import kept_document
from reprieve.report.hidden_names import named_in

_AT_A_TIME = 20  # decisions, between which other requests get their turn
# PodGroups are served by Kubernetes, or by a definition of ours: never by both.
REVIEWED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Pod": (("", "pods"),),
    "PodGroup": (("scheduling.k8s.io", "podgroups"), ("reprieve.dev", "podgroups")),
    "CompositePodGroup": (("scheduling.k8s.io", "compositepodgroups"),),
    "PodDisruptionBudget": (("policy", "poddisruptionbudgets"),),
}

Allowed = Callable[[Collection[NamespacedKind]], Awaitable[frozenset[NamespacedKind]]]


async def reviewed_decisions(asked: AskedDecisions, allowed: Allowed) -> bytes:
    """Each right is asked for once for each request."""
    decisions, wanted = [], set[NamespacedKind]()
    for number, encoded in enumerate(asked.kept):
        decisions.append(kept := encoded.decoded())
        wanted |= {kind for name in named_in(kept.decision) for kind in reviewed_kinds(*name)}
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    granted = await allowed(wanted)

    def may_get(kind: str, namespace: str) -> bool:
        return any(one in granted for one in reviewed_kinds(kind, namespace))

    items = []
    for number, kept in enumerate(decisions):
        items.append(kept_document(kept, may_get, asked.version))
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    return page_of(items, asked)


def reviewed_kinds(kind: str, namespace: str) -> list[NamespacedKind]:
    """As which resources a kind is read; an empty namespace: in all of them."""
    return [NamespacedKind(group, resource, namespace) for group, resource in REVIEWED.get(kind, ())]
