"""What the log tells of scheduling: what was decided, and what could not be done.

An onlooker: it changes nothing.
"""

import logging
from collections.abc import Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Failed, Synced, Unknown
from reprieve.runtime.logs import DECISIONS
from reprieve.scheduler.decision import Decided

_log = logging.getLogger(__name__)
_decisions = logging.getLogger(DECISIONS)


class Chronicle:
    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        for event in events:
            match event:
                case Failed(effect, error):
                    _log.warning("%s of %s failed: %s", type(effect).__name__, effect.target, error)
                case Unknown(effect, error):
                    name = type(effect).__name__
                    _log.warning("whether %s of %s happened is not known: %s", name, effect.target, error)
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
