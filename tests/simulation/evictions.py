"""Which pod was evicted for which decision, and whether it was of any use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprieve.model.conditions import MARK
from reprieve.model.effects import Target
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_minicluster.store import Store, parsed
from reprieve_minicluster.store.scheduler_calls import key_of_target
from tests.simulation.invariants import hold


@dataclass(slots=True)
class Evictions:
    """Kept over restarts of the scheduler: a plan outlives it."""

    store: Store
    decisions: dict[str, Decision] = field(default_factory=dict)  # those that evict, by id
    victims: dict[Target, str] = field(default_factory=dict)  # and the decision that each was evicted for

    joined: set[str] = field(default_factory=set)  # uids of pods that joined a group that goes as a whole

    def decided(self, decision: Decision) -> None:
        if decision.outcome is Outcome.PREEMPTS:
            self.decisions[decision.id] = decision

    def wanted(self, victim: Target) -> None:
        """An eviction is sent: the victim shows which decision it is for."""
        found = self.store.find(key_of_target(victim))
        if found is None or found.uid != victim.uid:
            return
        body = parsed(found)
        if "deletionTimestamp" in body["metadata"]:
            return
        marks = (
            c for c in body["status"].get("conditions", ()) if c["type"] == MARK and c["status"] == "True"
        )
        message = next((mark["message"] for mark in marks), "")
        decision = self.decisions.get(message.partition("(decision ")[2].partition(")")[0])
        hold(decision is not None, f"{victim} is evicted, and its mark names no decision: {message!r}")
        assert decision is not None
        named = decision.preemption.victims if decision.preemption is not None else ()
        joined = victim.uid in self.joined
        hold(
            joined or victim in [v.pod for v in named],
            f"{victim} is evicted, and decision {decision.id} does not say so",
        )
        self.victims[victim] = decision.id

    def wasted(self, places: Mapping[str, str]) -> int:
        """How many went for a demand that did not come where they had been."""
        served = {
            decision.id
            for decision in self.decisions.values()
            if any(places.get(pod.uid) == node for pod, node in decision.places)
        }
        return sum(decision not in served for decision in self.victims.values())
