"""Runs the controllers: which object needs a look after which change, when, and that it gets one.

A look comes a moment after the change that called for it, so that a burst of changes costs one look. Nothing
else is remembered: what is to be done follows from what the store holds then.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.apiserver.admission import DEFAULT_FEATURES, Features
from reprieve.cluster.mini.agenda import Agenda
from reprieve.cluster.mini.controllers import (
    budget,
    cron,
    daemon,
    deployment,
    groups,
    job,
    node_lifecycle,
    protection,
    replicas,
    rights,
    stateful,
    volume_use,
    volumes,
)
from reprieve.cluster.mini.controllers.mirror import Described, Mirror
from reprieve.cluster.mini.controllers.writes import LookAgain, Write, carry_out
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.store import Store


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds from a change to the look at what it means; for volumes, also the time it takes to make one.

    ``speed``: how many times as fast as usual schedules pass.
    """

    look: float = 0.1
    volumes: float = 1.0
    after_refusal: float = 5.0
    speed: float = 1.0


DEFAULT_DELAYS = Delays()


def delays_at(speed: float) -> Delays:
    usual = DEFAULT_DELAYS
    return Delays(usual.look / speed, usual.volumes / speed, usual.after_refusal / speed, speed)


@dataclass(frozen=True, slots=True)
class Controller:
    """``concerned``: whom a thing, as it was or as it is, may give something to do."""

    concerned: Callable[[Mirror, Described], Iterable[Key]]
    reconcile: Callable[[Mirror, Key, float], Iterable[Write]]
    delay: float


def controllers(delays: Delays) -> tuple[Controller, ...]:
    return (
        Controller(deployment.concerned, partial(deployment.reconcile, speed=delays.speed), delays.look),
        Controller(replicas.concerned, replicas.reconcile, delays.look),
        Controller(daemon.concerned, daemon.reconcile, delays.look),
        Controller(stateful.concerned, stateful.reconcile, delays.look),
        Controller(cron.concerned, partial(cron.reconcile, speed=delays.speed), delays.look),
        Controller(job.concerned, partial(job.reconcile, speed=delays.speed), delays.look),
        Controller(budget.concerned, budget.reconcile, delays.look),
        Controller(groups.concerned, groups.reconcile, delays.look),
        Controller(protection.concerned, protection.reconcile, delays.look),
        Controller(node_lifecycle.concerned, node_lifecycle.reconcile, delays.look),
        Controller(rights.concerned, rights.reconcile, delays.look),
        Controller(rights.account_concerned, rights.reconcile_account, delays.look),
        Controller(volume_use.concerned, volume_use.reconcile, delays.look),
        Controller(volumes.concerned, volumes.reconcile, delays.volumes),
    )


class Controllers:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        delays: Delays = DEFAULT_DELAYS,
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._delays = delays
        self._features = features
        self._mirror = Mirror()
        self._controllers = controllers(delays)
        self._agenda: Agenda[tuple[int, Key], None] = Agenda()
        self.observer = Observer(store, tuple(self._mirror.tables))

    def step(self) -> float | None:
        """Takes in what changed and looks where it is due; says when the next look is."""
        for change in self.observer.poll():
            for thing in self._mirror.take(change):
                if thing is not None:
                    self._call_for_looks(thing)
        for (number, key), _ in self._agenda.due(self._clock()):
            self._look(number, key)
        return self._agenda.next_at()

    def _call_for_looks(self, thing: Described) -> None:
        now = self._clock()
        for number, controller in enumerate(self._controllers):
            for key in controller.concerned(self._mirror, thing):
                self._agenda.plan((number, key), None, now + controller.delay)

    def _look(self, number: int, key: Key) -> None:
        now = self._clock()
        for write in self._controllers[number].reconcile(self._mirror, key, now):
            again_at = self._carried_out(write, now)
            if again_at is not None:
                self._agenda.plan((number, key), None, again_at)

    def _carried_out(self, write: Write, now: float) -> float | None:
        """None, or when to look again. One write that is refused does not spoil the others."""
        if isinstance(write, LookAgain):
            return write.at
        try:
            carry_out(self._store, write, now, self._features)
        except ApiError:
            return now + self._delays.after_refusal
        return None
