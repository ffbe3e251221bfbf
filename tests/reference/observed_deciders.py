"""What Reprieve decides in a recorded case: one function for each capability that a case can need.

``DECIDERS`` is the registry. A capability without an entry is not built yet, and a case that needs it is
neither right nor wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import with_pod, without
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Ask
from reprieve.placement.place import Survey, best, rate, survey
from tests.reference.observed_cases import Case, Observation


class Capability(StrEnum):
    PLACEMENT = "placement"
    PREEMPTION = "preemption"
    GANGS = "gangs"
    RESIZE = "resize"


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """No decision, for lack of this."""

    capability: Capability


# What is done in a case, under `policy: Upstream` and the default profile. The second argument says what
# was recorded: where several nodes are equally good, kube-scheduler takes any of them, and we take its.
Decide = Callable[[Case, Observation], Observation | NotBuilt]

NOTHING = Observation("nothing")


def capability_of(case: Case) -> Capability:
    """What must be there to begin with; a decider hands on what turns out to need more."""
    if case.resize is not None:
        return Capability.RESIZE
    return Capability.GANGS if case.is_gang else Capability.PLACEMENT


def decide_by(capability: Capability, case: Case, recorded: Observation) -> Observation | NotBuilt:
    decide = DECIDERS.get(capability)
    return decide(case, recorded) if decide is not None else NotBuilt(capability)


def place_pods(case: Case, recorded: Observation) -> Observation | NotBuilt:
    """Pods one after the other. Eviction is asked for only where it might change something."""
    view = case.view
    placed: dict[str, str] = {}
    for pod in case.newcomers:
        ask = Ask(view, pod)
        found = survey(ask)
        name = view.pods.compiled[pod].pod.metadata.name
        if found.feasible.any():
            node = best_or_equal(ask, found, recorded.placed.get(name, ""))
            placed[name] = view.nodes.names[node]
            view = with_pod(view, pod, node)
        # One that was bound and disturbed nobody ought to fit: whatever eviction would do, we disagree.
        elif name not in recorded.placed and may_find_room(ask, found):
            return decide_by(Capability.PREEMPTION, case, recorded)
    return Observation("placed", placed) if placed else NOTHING


def best_or_equal(ask: Ask, found: Survey, recorded: str) -> int:
    """The best node: the recorded one if it has the top score."""
    ours = best(ask, found.feasible)
    theirs = ask.view.nodes.rows.get(recorded)
    if theirs is None or not found.feasible[theirs]:
        return ours
    ratings = rate(ask, found.feasible).total
    return theirs if ratings[theirs] == ratings[ours] else ours


def may_find_room(ask: Ask, found: Survey) -> bool:
    """Whether the pod may evict, and some node would do if all that matter less were gone from it."""
    if ask.view.pods.compiled[ask.pod].pod.spec.preemption_policy == "Never":
        return False
    return any(would_do(ask, int(node)) for node in np.flatnonzero(found.curable()))


def would_do(ask: Ask, node: int) -> bool:
    emptied = without(ask.view, lesser_pods_on(ask.view, node, ask.pod))
    here = np.zeros(len(emptied.nodes), np.bool_)
    here[node] = True
    return bool(survey(Ask(emptied, ask.pod, ask.profile), CONSTRAINTS, here).feasible.any())


def lesser_pods_on(view: Snapshot, node: int, pod: int) -> list[int]:
    priority = view.pods.priority
    return [int(row) for row in np.flatnonzero((view.where == node) & (priority < priority[pod]))]


DECIDERS: Mapping[Capability, Decide] = {Capability.PLACEMENT: place_pods}
