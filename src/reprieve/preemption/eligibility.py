"""Who may be taken: rules, each of which may protect units. Protected by one is protected."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Mask
from reprieve.placement.demand import Demand
from reprieve.preemption.units import Units


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The units that may be taken, and the moment when that changes by itself, if it does."""

    allowed: Mask
    until: float | None = None


Rule = Callable[[Units, Demand, float], Verdict]


def lower_priority(units: Units, demand: Demand, _: float) -> Verdict:
    """Only who is strictly less important gives way."""
    return Verdict(units.priority < demand.priority)


def not_itself(units: Units, demand: Demand, _: float) -> Verdict:
    """Nobody makes room by evicting himself, nor his own group."""
    groups, pods = units.view.pods.groups.codes, np.array(demand.pods, np.int64)
    own = np.isin(groups, groups[pods]) & (groups != 0)
    own[pods] = True
    return Verdict((units.size > 0) & ~units.with_any(own))


RULES: tuple[Rule, ...] = (not_itself, lower_priority)


def eligible(units: Units, demand: Demand, rules: tuple[Rule, ...], now: float) -> Verdict:
    verdicts = [rule(units, demand, now) for rule in rules]
    allowed = verdicts[0].allowed.copy()
    for verdict in verdicts[1:]:
        allowed &= verdict.allowed
    times = [verdict.until for verdict in verdicts if verdict.until is not None]
    return Verdict(allowed, min(times, default=None))
