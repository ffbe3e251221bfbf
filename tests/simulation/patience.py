"""A scheduler that is asked, whenever it would wait, whether somebody waits longer than tolerations make him,
and whenever it decides, whether somebody is taken whose toleration is not over."""

from reprieve.model.objects import Pod
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decided
from reprieve.scheduler.decision_context import case_of
from reprieve.scheduler.demands import Asker
from reprieve.scheduler.planning import plans_for
from reprieve.scheduler.queue import Key, Standing
from tests.reference.plain.toleration import may_be_taken_from
from tests.simulation.invariants import hold


class PatientScheduler(Scheduler):
    def __init__(self) -> None:
        super().__init__()
        self.looks = 0  # how often it was asked about somebody
        self._decided: dict[tuple[str, str, str], float] = {}  # when each demand was decided last
        self._now = 0.0

    def decide(self, now: float) -> Decided | None:
        self._now = now
        decided = super().decide(now)
        if decided is not None:
            demand = decided.decision.demand
            self._decided[demand.kind, demand.namespace, demand.name] = now
            self._check_nobody_is_taken_early(decided)
        return decided

    def next_time(self) -> float | None:
        for key in list(self._state.queue.keys()):
            if self._state.queue.standing(key) in (Standing.WAITING, Standing.BACKOFF):
                self._check_nobody_waits_too_long(key)
        return super().next_time()

    def _check_nobody_is_taken_early(self, decided: Decided) -> None:
        view, decision = self._state.world.snapshot(), decided.decision
        for victim in decision.preemption.victims if decision.preemption is not None else ():
            pod: Pod = view.pods.compiled[view.pods.rows[victim.pod.namespace, victim.pod.name]].pod
            until = may_be_taken_from((*view.priority_classes.values(),), [pod], decision.priority)
            hold(until <= decision.at, f"{victim.pod} is taken at {decision.at}, and tolerates until {until}")

    def _check_nobody_waits_too_long(self, key: Key) -> None:
        """If nothing but time has passed since it was decided, there must be no plan that there was not."""
        before = self._decided.get(key)
        if before is None or before == self._now or self._state.plans.of(key) is not None:
            return
        self.looks += 1
        late = self._has_plan(key, self._now) and not self._has_plan(key, before)
        hold(not late, f"{key} waits at {self._now}, and could have been decided since {before}")

    def _has_plan(self, key: Key, now: float) -> bool:
        state, who = self._state, self._state.asker(key)
        if not isinstance(who, Asker):
            return False
        case = case_of(state, who, now)
        found = place_together(case.demand, case.view, case.profile, promised=case.promised)
        if isinstance(found, Placement):
            return False
        policy = state.settings.policies[who.pods[0].pod.spec.scheduler_name]
        return bool(plans_for(case, found, policy, now, state.settings.room_for).plans)
