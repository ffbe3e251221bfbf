"""What do a preemptor and its victims read of each other, in events and conditions?

Names within one namespace, counts, priorities and UIDs beyond it: a reader of one namespace must not learn
names of another. First words as kube-scheduler's, for which people and programs look.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.formatting import counted
from reprieve.scheduler.reporting.decision import by_node, preempting_text

OURS = "reprieve: "  # other schedulers mark their victims, too
_NAMED = 3
_KINDS = {kind.lower(): kind for kind in ("Pod", "PodGroup", "CompositePodGroup")}
_MARK_TEXT = re.compile(
    rf"{OURS}preempting to accommodate a higher priority (?P<kind>\w+) \(decision (?P<id>[\w-]+)\)"
    r"(?:: \w+ (?P<far>with UID )?(?P<name>[-.\w]+) of priority (?P<priority>-?\d+); more: .*)?"
)


@dataclass(frozen=True, slots=True)
class AnnouncedPreemptor:
    """``decision``: its id."""

    target: Target
    priority: int
    decision: str

    @property
    def kind(self) -> str:
        return self.target.kind.lower()

    def is_in(self, namespace: str) -> bool:
        return self.target.namespace == namespace


# --- victims -------------------------------------------------------------------------------------


def mark_text(preemptor: AnnouncedPreemptor, namespace: str) -> str:
    """The message of DisruptionTarget; the same for all pods and groups of a namespace."""
    target, kind, decision = preemptor.target, preemptor.kind, preemptor.decision
    named = target.name if preemptor.is_in(namespace) else f"with UID {target.uid}"
    return (
        f"{OURS}preempting to accommodate a higher priority {kind} (decision {decision}): "
        f"{kind} {named} of priority {preemptor.priority}; more: reprieve why {decision}"
    )


def preempted(victim: Target, preemptor: AnnouncedPreemptor, node: str, whole: str = "") -> Announce:
    """``node``: the victim's own. ``whole``: kind and name of the group or tree that is evicted with it."""
    target, near = preemptor.target, preemptor.is_in(victim.namespace)
    first = f"Preempted by {preemptor.kind} {target.name if near else target.uid} on node {node}"
    together = f", with all of {whole}" if whole else ""
    note = f"{first}{together}: {_more(victim, preemptor.priority, preemptor.decision)}"
    return _event(victim, preemptor.decision, note, target if near else None)


def preempted_without_plan(victim: Target, text: str, node: str) -> Announce | None:
    """For a plan that is not known any more. ``text``: of the victim's mark. ``node``: empty if unknown."""
    found = _MARK_TEXT.fullmatch(text)
    if found is None:
        return None
    kind, name, decision = found["kind"], found["name"], found["id"]
    if name is None:
        return _event(victim, decision, f"Preempted by a higher priority {kind} (decision {decision})", None)
    where = f" on node {node}" if node else ""
    note = f"Preempted by {kind} {name}{where}: {_more(victim, int(found['priority']), decision)}"
    near = Target(_KINDS.get(kind, kind), victim.namespace, name, "") if not found["far"] else None
    return _event(victim, decision, note, near)


def _more(victim: Target, priority: int, decision: str) -> str:
    return (
        f"the preemptor's priority is {priority} (decision {decision}); "
        f"more: reprieve why pod/{victim.name} -n {victim.namespace}"
    )


def _event(victim: Target, decision: str, note: str, related: Target | None) -> Announce:
    return Announce(victim, Tone.NORMAL, "Preempted", "Preempting", note, once=decision, related=related)


# --- preemptors ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnnouncedVictims:
    """``victims``: the most important first. ``priorities``: of those of them that are listed.

    ``excess``: budgets as `NAMESPACE/NAME`, and by how many pods each is exceeded.
    """

    victims: Sequence[Target]
    nodes: Mapping[Target, str]
    priorities: Mapping[Target, int]
    excess: Sequence[tuple[str, int]]


def preempting(preemptor: AnnouncedPreemptor, cost: AnnouncedVictims) -> Announce | None:
    """None if there is no victim."""
    where = preempting_text(by_node(cost.nodes[victim] for victim in cost.victims if victim in cost.nodes))
    if not where:
        return None
    namespace = preemptor.target.namespace
    parts = [f"{where}: {_victims(namespace, cost)}", *_exceeded(namespace, cost.excess)]
    note = f"{'; '.join(parts)} (decision {preemptor.decision})"
    return Announce(preemptor.target, Tone.NORMAL, "Preempting", "Preempting", note)


def _victims(namespace: str, cost: AnnouncedVictims) -> str:
    own = [victim.name for victim in cost.victims if victim.namespace == namespace]
    others = [victim for victim in cost.victims if victim.namespace != namespace]
    parts = [_few(own)] if own else []
    if others:
        known = [cost.priorities[victim] for victim in others if victim in cost.priorities]
        highest = f" (highest priority {max(known)})" if known else ""
        parts.append(f"{counted(len(others), 'pod')} of other namespaces{highest}")
    return ", and ".join(parts)


def _exceeded(namespace: str, excess: Sequence[tuple[str, int]]) -> list[str]:
    own = [f"{name.partition('/')[2]} by {by}" for name, by in excess if name.partition("/")[0] == namespace]
    others = len(excess) - len(own)
    parts = [f"PodDisruptionBudget {_few(own)}"] if own else []
    parts += [f"{counted(others, 'PodDisruptionBudget')} of other namespaces"] if others else []
    return [f"exceeds {' and '.join(parts)}"] if parts else []


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
