"""Which pods does a job want at this moment, and how far has it come?

As a controller would: pods that were evicted are replaced, a gang that fell below its minimum begins anew as
a whole, and a pod or gang that has run for its duration is done. It knows no scheduler and no nodes: a
cluster tells what happened to pods, and does what is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from reprieve.model.objects import Pod, PodDisruptionBudget, PodGroup
from reprieve_study.agenda import Agenda
from reprieve_study.job import Job, JobTemplate, allowing, budget_of, group_of, template_of


class JobCluster(Protocol):
    """Where pods of jobs live."""

    def create(self, thing: Pod | PodGroup | PodDisruptionBudget) -> None:
        """It exists from now on."""

    def update(self, budget: PodDisruptionBudget) -> None: ...

    def delete(self, uid: str) -> None:
        """Its termination begins; a pod without a node is gone at once."""

    def finish(self, uid: str) -> None:
        """The pod has done its work and is gone at once."""

    def remove(self, thing: PodGroup | PodDisruptionBudget) -> None: ...


class JobListener(Protocol):
    """What measures are made from."""

    def arrived(self, job: Job, now: float) -> None: ...

    def started(self, job: Job, pods: int, waited: float, now: float) -> None:
        """So many pods run that waited for so long; of a gang, when its minimum runs."""

    def lost(self, job: Job, pods: int, seconds: float, now: float) -> None:
        """So many pods have run for so long in vain."""

    def worked(self, job: Job, pods: int, seconds: float, now: float) -> None:
        """So many pods have done work that lasts."""

    def restarted(self, job: Job, now: float) -> None:
        """A gang fell below its minimum."""

    def ended(self, job: Job, now: float) -> None: ...


class Phase(Enum):
    WAITING = "waits for a node, or for its start"
    RUNNING = "runs"
    LEAVING = "terminates"


@dataclass(slots=True)
class _Member:
    """A pod. ``slot``: its place in the job, which its replacements keep."""

    uid: str
    slot: int
    since: float  # when its present phase began
    phase: Phase = Phase.WAITING


@dataclass(slots=True)
class _Run:
    """A job that has arrived and is not done. ``left``: seconds of work, by slot; a gang has one for all."""

    template: JobTemplate
    left: dict[int, float]
    members: dict[str, _Member] = field(default_factory=dict)
    waiting_since: dict[int, float] = field(default_factory=dict)
    created: int = 0
    together_since: float | None = None  # from when on the minimum of a gang runs
    term: int = 0  # counts runs of the gang, so that an end that was announced for an earlier one is ignored
    budget: PodDisruptionBudget | None = None
    allowed: int = 0
    is_restarting: bool = False

    @property
    def job(self) -> Job:
        return self.template.job

    @property
    def running(self) -> int:
        return sum(member.phase is Phase.RUNNING for member in self.members.values())


class JobController:
    def __init__(
        self, cluster: JobCluster, agenda: Agenda, listener: JobListener, scheduler_name: str
    ) -> None:
        self._cluster = cluster
        self._agenda = agenda
        self._listener = listener
        self._scheduler_name = scheduler_name
        self._runs: dict[str, _Run] = {}
        self._run_of: dict[str, _Run] = {}  # by the UID of a pod

    @property
    def is_busy(self) -> bool:
        return bool(self._runs)

    def unfinished(self) -> list[Job]:
        return [run.job for run in self._runs.values()]

    def arrive(self, job: Job, now: float) -> None:
        slots = range(1) if job.is_gang else range(job.pods)
        run = _Run(template_of(job, self._scheduler_name), dict.fromkeys(slots, job.duration))
        self._runs[job.name] = run
        self._listener.arrived(job, now)
        if job.is_gang:
            self._cluster.create(group_of(job, now))
        if job.budget is not None:
            run.budget = budget_of(job, now)
            self._cluster.create(run.budget)
        for slot in range(job.pods):
            run.waiting_since[slot] = now
            self._create(run, slot, now)

    # --- what happens to pods --------------------------------------------------------------------

    def pod_started(self, uid: str, now: float) -> None:
        run = self._run_of.get(uid)
        if run is None:
            return
        member = run.members[uid]
        if member.phase is not Phase.WAITING:
            return
        member.phase, member.since = Phase.RUNNING, now
        if run.job.is_gang:
            self._gang_grew(run, now)
        else:
            self._listener.started(run.job, 1, now - run.waiting_since.pop(member.slot), now)
            self._agenda.at(now + run.left[member.slot], self._end_of_pod(uid))
        self._count(run)

    def pod_leaves(self, uid: str, now: float) -> None:
        """Its termination has begun; from now on it does no work."""
        run = self._run_of.get(uid)
        if run is None:
            return
        member = run.members[uid]
        if member.phase is Phase.LEAVING:
            return
        was_running, since = member.phase is Phase.RUNNING, member.since
        member.phase = Phase.LEAVING
        if run.job.is_gang:
            self._gang_shrank(run, now)
        elif was_running:
            self._cut_off(run, member.slot, 1, now - since, now)
        run.waiting_since.setdefault(member.slot, now)
        self._count(run)

    def pod_gone(self, uid: str, now: float) -> None:
        self.pod_leaves(uid, now)  # a pod may go without having been seen to leave
        run = self._run_of.pop(uid, None)
        if run is None:
            return
        member = run.members.pop(uid)
        if not run.is_restarting:
            self._create(run, member.slot, now)
        elif not run.members:
            run.is_restarting = False
            for slot in range(run.job.pods):
                self._create(run, slot, now)

    # --- gangs -----------------------------------------------------------------------------------

    def _gang_grew(self, run: _Run, now: float) -> None:
        job = run.job
        if run.is_restarting or run.together_since is not None or run.running < job.gang:
            return
        run.together_since = now
        run.term += 1
        waited = now - min(run.waiting_since.values(), default=now)
        run.waiting_since.clear()
        self._listener.started(job, job.pods, waited, now)
        self._agenda.at(now + run.left[0], self._end_of_gang(run, run.term))

    def _gang_shrank(self, run: _Run, now: float) -> None:
        if run.is_restarting or run.together_since is None or run.running >= run.job.gang:
            return
        self._cut_off(run, 0, run.job.pods, now - run.together_since, now)
        run.together_since = None
        run.is_restarting = True
        self._listener.restarted(run.job, now)
        for slot in range(run.job.pods):
            run.waiting_since.setdefault(slot, now)
        for member in list(run.members.values()):
            if member.phase is not Phase.LEAVING:
                self._cluster.delete(member.uid)

    # --- work ------------------------------------------------------------------------------------

    def _cut_off(self, run: _Run, slot: int, pods: int, seconds: float, now: float) -> None:
        """What was done since the last checkpoint is lost."""
        job = run.job
        kept = seconds // job.checkpoint * job.checkpoint if job.checkpoint else 0.0
        run.left[slot] -= kept
        self._listener.worked(job, pods, kept, now)
        self._listener.lost(job, pods, seconds - kept, now)

    def _end_of_pod(self, uid: str) -> Callable[[float], None]:
        def end(now: float) -> None:
            run = self._run_of.get(uid)
            if run is None or run.members[uid].phase is not Phase.RUNNING:
                return
            member = run.members.pop(uid)
            del self._run_of[uid]
            self._listener.worked(run.job, 1, run.left.pop(member.slot), now)
            self._cluster.finish(uid)
            self._count(run)
            if not run.left:
                self._end(run, now)

        return end

    def _end_of_gang(self, run: _Run, term: int) -> Callable[[float], None]:
        def end(now: float) -> None:
            if run.term != term or run.together_since is None:
                return
            self._listener.worked(run.job, run.job.pods, run.left[0], now)
            for uid in list(run.members):
                del self._run_of[uid]
                self._cluster.finish(uid)
            self._end(run, now)

        return end

    def _end(self, run: _Run, now: float) -> None:
        job = run.job
        del self._runs[job.name]
        if job.is_gang:
            self._cluster.remove(group_of(job, now))
        if run.budget is not None:
            self._cluster.remove(run.budget)
        self._listener.ended(job, now)

    def _create(self, run: _Run, slot: int, now: float) -> None:
        run.created += 1
        name = f"{run.job.name}-{slot}-{run.created}"
        run.members[name] = _Member(name, slot, now)
        self._run_of[name] = run
        self._cluster.create(run.template.pod(name, now))

    def _count(self, run: _Run) -> None:
        """What the budget allows follows from the pods that run, as its controller computes it."""
        if run.budget is None or run.job.budget is None:
            return
        allowed = max(0, run.running - run.job.budget)
        if allowed != run.allowed:
            run.allowed = allowed
            run.budget = allowing(run.budget, allowed)
            self._cluster.update(run.budget)
