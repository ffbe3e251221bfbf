"""Asking about one pod among a few objects."""

from collections.abc import Iterable, Mapping

from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.snapshot import build
from reprieve.placement.demand import Ask, Constraint, Scorer
from reprieve.placement.place import survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile


def ask_about(pod: Pod, objects: Iterable[KubernetesObject], profile: Profile = DEFAULT_PROFILE) -> Ask:
    view = build([*objects, pod]).snapshot
    return Ask(view, view.pods.rows[pod.metadata.namespace, pod.metadata.name], profile)


def refused(constraint: Constraint, ask: Ask) -> Mapping[str, list[str]]:
    """Why each refused node is refused; a reason that could pass has a question mark."""
    found = list(constraint(ask))
    reasons = {
        name: sorted(
            f"{r.reason.code} {r.reason.detail}".strip() + ("?" if r.curable else "")
            for r in found
            if r.rows[row]
        )
        for row, name in enumerate(ask.view.nodes.names)
    }
    return {name: why for name, why in reasons.items() if why}


def scores(scorer: Scorer, ask: Ask) -> Mapping[str, int] | None:
    """The scores of the nodes that are feasible."""
    feasible = survey(ask).feasible
    found = scorer(ask, feasible)
    if found is None:
        return None
    return {name: int(found[row]) for row, name in enumerate(ask.view.nodes.names) if feasible[row]}
