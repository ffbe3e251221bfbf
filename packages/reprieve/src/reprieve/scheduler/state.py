"""All that the scheduler remembers, by the rooms that own it.

A function that changes one or two of these takes them, and not the state. Those that take the state lead
through several rooms: ``enqueueing`` (demands), ``binding`` (pods that have a place), ``plan_driver`` (open
plans), ``deciding``.
"""

from math import inf
from typing import Protocol

from reprieve.model.effects import Effect
from reprieve.model.moment import Due
from reprieve.preemption.criteria import LOST_WORK
from reprieve.scheduler.demand_lookup import DemandLookup
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.mirror.group_mirror import GroupRuns
from reprieve.scheduler.mirror.ledger_columns import LedgerColumns
from reprieve.scheduler.mirror.tombstones import Tombstones
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.plans.open_plans import Plans
from reprieve.scheduler.plans.plan_log import PlanLog
from reprieve.scheduler.plans.preemption_backoff import PreemptionBackoff, ResendBackoff
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.plans.whole_units import WholeUnits
from reprieve.scheduler.queue.equivalence import Refusals, Stamp
from reprieve.scheduler.queue.gang_growth import GangGrowth
from reprieve.scheduler.queue.group_news import GroupNews
from reprieve.scheduler.queue.improvements import Improvements
from reprieve.scheduler.queue.queue import FLUSH_SECONDS, Queue
from reprieve.scheduler.reporting.annotation_reports import CheckpointReports, VictimAnnotationReports
from reprieve.scheduler.reporting.delayed_reports import LateGangReports
from reprieve.scheduler.reporting.status_reporter import StatusReporter
from reprieve.scheduler.set_aside import SchedulerFailure, SetAsideEvents
from reprieve.scheduler.settings import Settings


class Timed(Protocol):
    """Something may be due here even if nothing happens."""

    def next_time(self) -> float | None:
        """When that is, on the clock for durations; None if nothing is."""


class State:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.outbox = Outbox()
        self.synced = False
        self.set_aside = SetAsideEvents()
        self.failures: list[SchedulerFailure] = []  # those of the last step
        # What was promised, and is not shown yet.
        self.ledger = Ledger(settings.stuck_victim_seconds)
        # What the cluster shows.
        self.world = World(self.ledger.assumed, self.ledger.budget_lag)
        self.columns = LedgerColumns(self.ledger)
        self.group_runs = GroupRuns()
        self.tombstones = Tombstones()
        # Plans that are carried out, and what followed from earlier ones.
        self.plans = Plans(self.ledger.victims)
        self.units = WholeUnits(self.ledger, self.world, self.plans)
        self.plan_log = PlanLog()
        self.evictions = RecentEvictions(settings.longest_eviction_window)
        self.preemption_backoff = PreemptionBackoff()
        self.resend_backoff: ResendBackoff[Effect] = ResendBackoff()
        # Demands, and which of them is decided when.
        self.demands = DemandLookup(settings, self.world, self.units)
        self.queue = Queue(settings.backoff)
        self.group_news = GroupNews()
        self.gang_growth = GangGrowth(settings.resize_window)
        self.improvements = Improvements()
        self.refusals = Refusals(FLUSH_SECONDS)
        # What was said.
        self.reporter = StatusReporter(self.outbox)
        self.late_gangs = LateGangReports()
        self.checkpoint_reports = CheckpointReports(
            self.outbox, active=any(LOST_WORK in policy.disturbance for policy in settings.policies.values())
        )
        self.victim_reports = VictimAnnotationReports(
            self.outbox, settings.policies.values(), settings.profiles
        )

    def stamp(self) -> Stamp:
        """How much has happened: a refusal that is remembered holds until something may help."""
        return Stamp(self.queue.happened(), self.ledger.edition, self.world.edition)

    def next_time(self) -> Due:
        """When something is to be done even if nothing happens."""
        times = [time for one in self._timed() if (time := one.next_time()) is not None]
        date = self.queue.next_date()
        return Due(min(times, default=inf), inf if date is None else date)

    def _timed(self) -> tuple[Timed, ...]:
        """All that something is due in after a while."""
        own = self.queue, self.resend_backoff, self.set_aside, self.late_gangs, self.reporter.refused
        return *own, *self.ledger.timed()
