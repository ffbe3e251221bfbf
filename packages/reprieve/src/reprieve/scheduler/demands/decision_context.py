"""A demand that is being decided, with all that matters for it at this moment.

Where that comes from is not known here, and nothing is decided.
"""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.place import Unplaceable
from reprieve.placement.profile import Profile
from reprieve.preemption.plan import Plan
from reprieve.scheduler.demands import Requester


@dataclass(frozen=True, slots=True, eq=False)
class DecisionContext:
    """The demand in words of the cluster and in rows. All pods and nodes are rows of the view."""

    requester: Requester
    demand: Demand
    view: Snapshot
    profile: Profile
    promised: Promised  # room that is reserved for other demands
    in_flight: Ints  # victims of other plans, and pods that an earlier run of ours has marked
    charged: Ints  # those of them that budgets count as disrupted: a mark alone may be cleared
    stuck: tuple[int, ...] = ()  # pods that should be gone, and may never go
    staying: tuple[int, ...] = ()  # pods whose eviction the API server has rejected
    later: frozenset[int] = frozenset()  # pods of equal priority with room reserved after this demand's
    unplaced: Unplaceable | None = None  # why the demand does not fit as things are; None: not known yet
    restrained: float | None = None  # until when no pod is evicted for it, since earlier victims went in vain

    @property
    def promised_before(self) -> Promised:
        """Room that was reserved for other demands when room was reserved for this one."""
        if not self.later:
            return self.promised
        pods, nodes = (np.asarray(rows, np.int64) for rows in (self.promised.pods, self.promised.nodes))
        kept = ~np.isin(pods, [*self.later])
        return Promised(pods[kept], nodes[kept])

    def beside(self, plan: Plan) -> "DecisionContext":
        """The context of the demand's next pod: room is reserved for the plan, its victims are in flight."""
        pods, nodes = zip(*plan.places, strict=True)
        promised = Promised((*self.promised.pods, *pods), (*self.promised.nodes, *nodes))
        victims = np.array([row for unit in plan.victims for row in unit.pods], np.int64)
        in_flight, charged = (np.union1d(victims, rows) for rows in (self.in_flight, self.charged))
        return replace(self, promised=promised, in_flight=in_flight, charged=charged, unplaced=None)

    @property
    def leaving(self) -> Ints:
        """Pods that are being deleted, for whatever reason: their room will be free."""
        view = self.view
        leaving = np.flatnonzero(view.pods.terminating & (view.where != NOWHERE))
        return np.setdiff1d(leaving, self.stuck) if self.stuck else leaving
