"""What the log says of scheduling: decisions, how plans ended, and which calls failed.

It is an observer: it changes nothing.
"""

import logging
from collections.abc import Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, EvictionsRead, Failed, Synced, Unknown
from reprieve.model.formatting import counted, moment_text
from reprieve.runtime.logs import DECISIONS
from reprieve.scheduler.decision import Decided
from reprieve.scheduler.plan_records import (
    ChainContinued,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    StageReached,
    VictimsJudged,
)

_log = logging.getLogger(__name__)
_decisions = logging.getLogger(DECISIONS)


class DecisionLog:
    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        for event in events:
            match event:
                case Failed(effect, error):
                    _log.warning("%s of %s failed: %s", type(effect).__name__, effect.target, error)
                case Unknown(effect, error):
                    name = type(effect).__name__
                    _log.warning("whether %s of %s happened is not known: %s", name, effect.target, error)
                case EvictionsRead(evictions, since, lost):
                    workloads = counted(len({one.workload for one in evictions}), "workload")
                    text = f"{counted(len(evictions), 'eviction')} of {workloads} read from events"
                    text = f"eviction counts are known since {moment_text(since)}: {text}"
                    level = logging.WARNING if lost else logging.INFO
                    _log.log(level, "%s%s", text, f"; {lost}" if lost else "")
                case Synced():
                    _log.info("all that the cluster has is known; scheduling begins")

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        if decided is None:
            return
        made = decided.decision
        more = {
            "decision": made.id,
            "nodes": made.nodes,
            "victims": made.victims,
            "seconds": round(seconds, 6),
        }
        told = {name: value for name, value in more.items() if value}
        _decisions.info("%s: %s", made.demand, made.outcome.value, extra=told)

    def recorded(self, records: Sequence[PlanRecord]) -> None:
        """A plan is opened by the decision that is logged just before; stages are left to the journal."""
        for record in records:
            match record:
                case PlanEnded(decision=decision, demand=demand, reason=reason, stage=stage):
                    more = {"decision": decision, "stage": stage.value, "seconds": round(record.seconds, 6)}
                    _decisions.info("%s: plan ended: %s", demand, reason.value, extra=more)
                case VictimsJudged(decision=decision, demand=demand, wasted=wasted) if wasted:
                    text = f"{counted(len(wasted), 'pod')} evicted in vain"
                    names = [str(pod) for pod in wasted]
                    _decisions.info("%s: %s", demand, text, extra={"decision": decision, "wasted": names})
                case ChainContinued(decision=decision, demand=demand, depth=depth):
                    more = {"decision": decision, "depth": depth}
                    _decisions.info("%s: continues a chain of evictions", demand, extra=more)
                case GrowthEnded(demand, end, _, seconds):
                    _decisions.info("%s: resize %s", demand, end.value, extra={"seconds": round(seconds, 6)})
                case PlanOpened() | StageReached() | VictimsJudged():
                    pass
