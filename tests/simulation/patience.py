"""A scheduler that is checked, whenever it would wait: no demand waits longer than tolerations require;
and whenever it decides: no victim's toleration is still in force."""

from reprieve.model.moment import Due, Moment, on_one_clock
from reprieve.model.objects import Pod
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import Requester
from reprieve.scheduler.planning.current_context import context_of
from reprieve.scheduler.planning.making_room import make_room
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.reporting.decision import Decided
from tests.reference.plain.toleration import may_be_taken_from
from tests.simulation.invariants import hold, key_of


class PatientScheduler(Scheduler):
    def __init__(self) -> None:
        super().__init__()
        self.looks = 0  # how often it was checked with a waiting demand
        self._decided: dict[DemandKey, Moment] = {}  # when each demand was decided last
        self._now = on_one_clock(0.0)

    def decide(self, now: Moment) -> Decided | None:
        self._now = now
        decided = super().decide(now)
        if decided is not None:
            self._decided[key_of(decided.decision.demand)] = now
            self._check_no_pod_is_taken_early(decided)
        return decided

    def next_time(self) -> Due:
        for key in list(self._state.queue._entries):
            if self._state.queue.standing(key) in (Standing.WAITING, Standing.BACKOFF):
                self._check_no_pod_waits_too_long(key)
        return super().next_time()

    def _check_no_pod_is_taken_early(self, decided: Decided) -> None:
        view, decision = self._state.world.snapshot(), decided.decision
        for victim in decision.preemption.victims if decision.preemption is not None else ():
            pod: Pod = view.pods.compiled[view.pods.rows[victim.pod.namespace, victim.pod.name]].pod
            until = may_be_taken_from((*view.priority_classes.values(),), [pod], decision.priority)
            hold(until <= decision.at, f"{victim.pod} is taken at {decision.at}, and tolerates until {until}")

    def _check_no_pod_waits_too_long(self, key: DemandKey) -> None:
        """If nothing but time has passed since it was decided, there must be no plan that there was not."""
        before = self._decided.get(key)
        if before is None or before == self._now or self._state.plans.of(key) is not None:
            return
        self.looks += 1
        late = self._has_plan(key, self._now) and not self._has_plan(key, before)
        hold(not late, f"{key} waits at {self._now.wall}, and could have been decided since {before.wall}")

    def _has_plan(self, key: DemandKey, now: Moment) -> bool:
        state, requester = self._state, self._state.demands.requester(key)
        if not isinstance(requester, Requester):
            return False
        context = context_of(state, requester, now)
        found = place_together(context.demand, context.view, context.profile, promised=context.promised)
        if isinstance(found, Placement):
            return False
        policy = state.settings.policies[requester.pods[0].pod.spec.scheduler_name]
        return bool(make_room(context, policy, state.settings.gangs, now.wall).plans)
