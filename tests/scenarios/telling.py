"""Stories: a whole scheduler, an API server that does what is wanted when a step says so, time that jumps."""

from collections.abc import Iterable

import msgspec
from tests.unit.config import configuration
from tests.unit.scheduler.making import later, target
from tests.unit.scheduler.serving import Served
from tests.unit.scheduler.stage import Stage

from reprieve.assembly.scheduler_settings import settings_of
from reprieve.config import parse_feature_gates
from reprieve.model.effects import Announce, Bind, Effect, Evict, Nominate, SetCondition
from reprieve.model.events import EvictionsRead, Synced
from reprieve.model.events import Seen as Shown
from reprieve.model.objects import KubernetesObject, Pod, PodGroup
from reprieve.model.workloads import PastEviction
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.eviction_notes import PREEMPTED, noted_eviction
from tests.scenarios.making import decoded, moment, world_objects
from tests.scenarios.reading import Seen, StepLine, Story, WorldLine

KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "groups": "PodGroup",
    "composites": "CompositePodGroup",
    "classes": "PriorityClass",
    "budgets": "PodDisruptionBudget",
}
EFFECTS: dict[str, type[Effect]] = {
    "nominate": Nominate,
    "mark": SetCondition,
    "evict": Evict,
    "bind": Bind,
}


class StatusReporter:
    def __init__(self, story: Story, *, backwards: bool) -> None:
        self._story = story
        self._groups = dict(story.groups)
        things = [*self._things(story)]
        self._cluster = self._started(things[::-1] if backwards else things, moment(0))
        self._evicted: set[str] = set()
        self._notes: dict[str, str] = {}
        self._preempted: dict[str, PastEviction] = {}  # what the events of victims say
        self._listen()

    def play(self) -> None:
        for number, step in enumerate(self._story.steps, start=1):
            self._happens(step)
            if step.expect is not None:
                self._compare(step.expect, f"after step {number}")

    # --- what happens ---

    def _started(
        self, things: list[KubernetesObject], now: float, evicted: Iterable[PastEviction] = ()
    ) -> Served:
        """``evicted``: what events say of earlier evictions."""
        args = [{"name": "Reprieve", "args": self._story.args}]
        settings = settings_of(
            configuration(profiles=[{"pluginConfig": args}]), parse_feature_gates(self._story.gates)
        )
        read = EvictionsRead(tuple(evicted), now)
        stage = Stage(Scheduler(settings), now).happens(read, *map(Shown, things), Synced())
        return Served(stage, {target(thing): thing for thing in things})

    def _things(self, world: WorldLine) -> list[KubernetesObject]:
        return [decoded(thing) for thing in world_objects(world, self._groups)]

    def _happens(self, step: StepLine) -> None:
        cluster = self._cluster
        if step.restart:
            cluster = self._cluster = self._started(
                [*cluster.objects.values()], cluster.stage.now, self._preempted.values()
            )
        self._groups |= step.show.groups
        cluster.show(*map(self._next, self._things(step.show)))
        for kind, names in step.lose.items():
            cluster.gone(*names, kind=KINDS[kind])
        if step.drain:
            cluster.drained()
        if step.after:
            cluster.stage.after(step.after)
        if step.improve:
            cluster.stage.improve()
        for what, names in step.fail.items():
            cluster.fails(EFFECTS[what], *names)
        self._listen()
        self._carry_out(step)

    def _next(self, thing: KubernetesObject) -> KubernetesObject:
        """What is there already is changed by it."""
        known = self._cluster.objects.get(target(thing))
        if known is None:
            return thing
        version = later(known).metadata.resource_version
        return msgspec.structs.replace(
            thing, metadata=msgspec.structs.replace(thing.metadata, resource_version=version)
        )

    def _carry_out(self, step: StepLine) -> None:
        if step.do == "all":
            while self._cluster.stage.wanted:
                self._cluster.does()
                self._listen()
            return
        for what in step.do:
            self._cluster.does(EFFECTS[what])
            self._listen()

    def _listen(self) -> None:
        """Records which pods the scheduler wants to evict, and what it reports."""
        for effect in self._cluster.stage.wanted:
            if isinstance(effect, Evict):
                self._evicted.add(effect.target.name)
            if isinstance(effect, Announce):
                self._notes[effect.target.name] = effect.note
                counted = noted_eviction(effect.target, effect.note, self._cluster.stage.now)
                if effect.reason == PREEMPTED and counted is not None:
                    self._preempted.setdefault(effect.target.uid, counted)

    # --- what can be seen ---

    def _compare(self, expect: Seen, when: str) -> None:
        cluster = self._cluster
        seen = {
            name: {type_: self._conditions(name).get(type_, "") for type_ in wanted}
            for name, wanted in expect.conditions.items()
        }
        waiting = {name: cluster.pod(name).status.nominated_node_name for name in expect.nominated}
        told = {name: self._notes.get(name, "") for name in expect.says}
        pairs: list[tuple[object, object]] = [
            (sorted(self._evicted), sorted(expect.evicted)),
            (cluster.places(), cluster.places() if expect.on is None else expect.on),
            (waiting, expect.nominated),
            (seen, expect.conditions),
        ]
        if expect.decided is not None:
            pairs.append((len(cluster.stage.decisions), expect.decided))
        pairs += [
            (told[name], told[name] if words in told[name] else words) for name, words in expect.says.items()
        ]
        for found, wanted in pairs:
            assert found == wanted, f"{when}: {found}, expected {wanted}"

    def _conditions(self, name: str) -> dict[str, str]:
        things = [t for t in self._cluster.objects.values() if isinstance(t, Pod | PodGroup)]
        return {
            c.type: c.status
            for thing in things
            if thing.metadata.name == name
            for c in thing.status.conditions
        }
