"""Which demands does a question name, and what does the scheduler see of the cluster with them?

A demand is an object that was asked about, with its pods.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.admission.priority_classes import SYSTEM_CLASSES, read_class
from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.api.values import text_in
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.devices import DEVICE_CLASS, devices_of, resources_of_devices
from reprieve.inquiry.manifests import AdmittedManifests, AskedObject, Manifest
from reprieve.inquiry.object_names import ObjectName, absent_text
from reprieve.inquiry.rehearsal import Rehearsed
from reprieve.inquiry.resizes import Deferred, Resize, ResizeError, deferred
from reprieve.inquiry.rollouts import ObjectRollout, RolloutFacts
from reprieve.inquiry.world_changes import ChangedWorld, WorldChange, pods_of_name
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import Group, Groups, group_key, groups_table
from reprieve.model.json import Json
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodSpec, runs
from reprieve.scheduler.demands.group_tree import tree_of
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target

# --- the question --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """Demands are ``manifests``, pods and groups that wait already (``existing``), ``resizes``, and the pods
    of drained nodes."""

    cluster: DecodedCluster
    settings: Settings
    policy: str = "Reprieve"  # the name that reports give to the settings
    manifests: tuple[Manifest, ...] = ()
    existing: tuple[ObjectName, ...] = ()
    resizes: tuple[Resize, ...] = ()
    changes: tuple[WorldChange, ...] = ()
    priority_class: str = ""  # which the demands get instead of their own
    with_pending: bool = False  # whether pods of the cluster that wait are decided, too
    namespace: str = "default"  # of manifests that name none


# --- demands -------------------------------------------------------------------------------------


@dataclass(slots=True)
class AskedDemand:
    kind: str
    namespace: str
    name: str
    pods: dict[Target, Pod] = field(default_factory=dict)
    needed: int | None = None  # of a gang: how many of its pods must find a node; None: all
    resize: bool = False
    impossible: str = ""
    devices: str = ""  # what it needs of dynamic resource allocation, a phrase; empty: nothing
    rollout: ObjectRollout | None = None
    rolled: RolloutFacts | None = None  # how its rollout ended


_Name = tuple[str, str, str, bool]


@dataclass(slots=True)
class AskedDemands:
    question: WhatIfQuestion
    world: ChangedWorld
    created: AdmittedManifests
    demands: dict[_Name, AskedDemand] = field(default_factory=dict)
    resized: dict[tuple[str, str], Deferred] = field(default_factory=dict)
    classed: dict[Target, Pod] = field(default_factory=dict)  # pods that exist, with another priority class
    groups: Groups = field(default_factory=Groups)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def collect(self, now: float) -> None:
        self.groups = groups_table(one.object for one in (*self.world.seen, *self.created.created))
        for asked in self.created.asked:
            self._ask_object(asked)
        for name in self.question.existing:
            self._ask_existing(name)
        for node, pods in self.world.drained.items():
            for pod in pods:
                self._join("Node", "", node, pod)
            if not pods:
                self._demand("Node", "", node)
        for resize in self.question.resizes:
            self._ask_resize(resize, now)
        if not self.demands:
            empty = [f"{a.kind} {a.namespace}/{a.name}" for a in self.created.asked]
            self.notes += [f"{name} has no pods: it needs no node." for name in empty]
        self._note_schedulers()
        self._note_waiting()
        self._count_gangs()
        self._find_devices()

    def _find_devices(self) -> None:
        classes = (*self.question.cluster.by_name.all(DEVICE_CLASS), *self._classes_of_manifests())
        resources = resources_of_devices(classes)
        for demand in self.demands.values():
            if not demand.resize:
                demand.devices = next(
                    filter(None, (devices_of(p, resources) for p in demand.pods.values())), ""
                )

    def _classes_of_manifests(self) -> Iterator[Json]:
        bodies = (manifest.body for manifest in self.question.manifests)
        return (body for body in bodies if text_in(body, "kind") == DEVICE_CLASS)

    def _note_waiting(self) -> None:
        asked = {target for demand in self.demands.values() for target in demand.pods}
        others = sum(waits(pod) and pod_target(pod) not in asked for pod in self._cluster_pods())
        if self.created.rollouts is not None and others:
            self.notes.append(
                f"{counted(others, 'other pod')} that wait for room are decided, too: when each is tried "
                "again is not known, so that one of them may take room earlier or later than assumed here."
            )

    def _note_schedulers(self) -> None:
        """Where another scheduler decides, ours can only say what it would do in its place."""
        ours = {PodSpec().scheduler_name, *self.question.settings.profiles}
        for demand in self.demands.values():
            names = {pod.spec.scheduler_name for pod in demand.pods.values()} - ours
            if demand.rollout is not None:
                names |= {demand.rollout.of.scheduler} - {*ours, ""}
            for name in sorted(names):
                what = f"{demand.kind} {demand.namespace}/{demand.name}"
                self.notes.append(
                    f"{what} has the schedulerName {name}: the answer is what Reprieve would decide."
                )

    def _demand(self, kind: str, namespace: str, name: str, *, resize: bool = False) -> AskedDemand:
        key = (kind, namespace, name, resize)
        if key not in self.demands:
            self.demands[key] = AskedDemand(kind, namespace, name, resize=resize)
        return self.demands[key]

    def _join(self, kind: str, namespace: str, name: str, pod: Pod) -> None:
        """A pod of a group is part of the demand of that group, whatever created it."""
        key = self.question.settings.demand_of_pod(pod, self.groups)
        if key.kind.is_of_groups:
            kind, namespace, name = key.object_kind, key.namespace, key.name
        self._demand(kind, namespace, name).pods[pod_target(pod)] = pod

    def _ask_object(self, asked: AskedObject) -> None:
        for pod in asked.pods:
            self._join(asked.kind, asked.namespace, asked.name, pod)
        if asked.rollout is not None:
            self._demand(asked.kind, asked.namespace, asked.name).rollout = asked.rollout
            self._join_rollout(asked.rollout)
        elif not asked.pods and asked.kind not in ("PodGroup", "CompositePodGroup", "Workload"):
            self._demand(asked.kind, asked.namespace, asked.name)

    def _join_rollout(self, rollout: ObjectRollout) -> None:
        for pod in rollout.pods.values():
            self._join(rollout.of.kind, rollout.of.namespace, rollout.of.name, pod)

    def join_rollouts(self, rehearsed: Rehearsed) -> None:
        """The pods that rollouts have created, and how each has ended."""
        for demand in [*self.demands.values()]:
            if demand.rollout is not None:
                self._join_rollout(demand.rollout)
                demand.rolled = demand.rollout.facts(rehearsed.standing, rehearsed.ended)
        self._find_devices()

    def _ask_existing(self, name: ObjectName) -> None:
        found = pods_of_name(self.world.seen, name)
        if found is None:
            self.problems.append(absent_text(name, (one.object for one in self.world.seen)))
            return
        waiting = [pod for pod in found if waits(pod)]
        if not waiting:
            self.problems.append(_why_not_waiting(name, found))
        for pod in map(self._with_class, waiting):
            self._join("Pod", pod.metadata.namespace, pod.metadata.name, pod)

    def _with_class(self, pod: Pod) -> Pod:
        wanted = self.question.priority_class
        if not wanted:
            return pod
        classes = {
            one.name: one for one in map(read_class, self.question.cluster.by_name.all("PriorityClass"))
        }
        found = classes.get(wanted) or SYSTEM_CLASSES.get(wanted)
        if found is None:
            self.problems.append(f"--set-priority: there is no PriorityClass with the name {wanted}")
            return pod
        spec = msgspec.structs.replace(
            pod.spec,
            priority=found.value,
            priority_class_name=found.name,
            preemption_policy=found.preemption_policy,
        )
        self.classed[pod_target(pod)] = msgspec.structs.replace(pod, spec=spec)
        return self.classed[pod_target(pod)]

    def _ask_resize(self, resize: Resize, now: float) -> None:
        key = (resize.pod.namespace, resize.pod.name)
        try:
            found = deferred(resize, self.question.cluster, now)
        except ResizeError as error:
            self.problems.append(f"{error}")
            return
        demand = self._demand("Pod", *key, resize=True)
        demand.impossible = found.impossible
        for pod in self._cluster_pods() if found.impossible else ():
            if (pod.metadata.namespace, pod.metadata.name) == key:
                demand.pods[pod_target(pod)] = pod
        if found.found is not None and isinstance(found.found.object, Pod):
            self.resized[key] = found
            demand.pods[pod_target(found.found.object)] = found.found.object

    def _count_gangs(self) -> None:
        for demand in self.demands.values():
            group = self._group(demand)
            if group is None:
                continue
            for pod in self._fellows(demand):
                demand.pods.setdefault(pod_target(pod), pod)
            if isinstance(group, CompositePodGroup) or group.spec.gang is not None:
                demand.needed = self._needed(group, demand.pods.values())

    def _needed(self, group: Group, pods: Iterable[Pod]) -> int:
        waiting = Counter(map(group_key, pods))
        running = Counter(group_key(pod) for pod in self._cluster_pods() if is_running(pod))
        return tree_of(self.groups, group, lambda key: (running[key], waiting[key]), _no_topology).needed

    def _group(self, demand: AskedDemand) -> Group | None:
        key = (demand.namespace, demand.name)
        match demand.kind:
            case "PodGroup":
                return self.groups.pod_groups.get(key)
            case "CompositePodGroup":
                return self.groups.composites.get(key)
            case _:
                return None

    def _fellows(self, demand: AskedDemand) -> Iterator[Pod]:
        """Pods of the cluster that wait in the same group."""
        key = (demand.namespace, demand.name)
        inside = {key} if demand.kind == "PodGroup" else {*self.groups.leaves(key)}
        return (pod for pod in self._cluster_pods() if group_key(pod) in inside and waits(pod))

    def _cluster_pods(self) -> Iterator[Pod]:
        return (one.object for one in self.world.seen if isinstance(one.object, Pod))

    # --- what the scheduler sees ---

    def seen(self) -> Iterator[Decoded[KubernetesObject]]:
        """Pods that wait and are not asked about are left out, unless room is reserved for them or there are
        rollouts."""
        asked = {target for demand in self.demands.values() for target in demand.pods}
        for one in self.world.seen:
            thing = one.object
            if not isinstance(thing, Pod):
                yield one
            elif waits(thing):
                target = pod_target(thing)
                if target in self.classed:
                    yield Decoded(object=self.classed[target], unserved=one.unserved)
                elif target in asked or self._counts(thing):
                    yield one
            else:
                resized = self.resized.get((thing.metadata.namespace, thing.metadata.name))
                yield one if resized is None or resized.found is None else resized.found
        yield from self.created.created

    def _counts(self, pod: Pod) -> bool:
        """A rollout frees room again and again, which whatever waits may take."""
        rolls = self.created.rollouts is not None
        return bool(pod.status.nominated_node_name) or self.question.with_pending or rolls

    def scheduler_names(self, seen: Sequence[Decoded[KubernetesObject]]) -> list[str]:
        """The schedulerNames of the demands, and of other pods that wait."""
        names = {pod.spec.scheduler_name for demand in self.demands.values() for pod in demand.pods.values()}
        waiting = {p.spec.scheduler_name for one in seen if isinstance(p := one.object, Pod) and waits(p)}
        rolled = {d.rollout.of.scheduler for d in self.demands.values() if d.rollout is not None}
        return sorted((names | waiting | rolled) - {""})


def is_running(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and runs(pod)


def _no_topology(_: Group) -> str:
    return ""


def waits(pod: Pod) -> bool:
    """Whether it has no node yet, and needs one."""
    return not pod.spec.node_name and runs(pod)


def _why_not_waiting(name: ObjectName, pods: Sequence[Pod]) -> str:
    if len(pods) == 1 and pods[0].spec.node_name:
        where = f"{pods[0].metadata.namespace}/{pods[0].metadata.name} runs on {pods[0].spec.node_name}"
        return f"Pod {where}: a what-if is for pods that wait; for more resources, use --resize"
    return f"{name} has no pod that waits for a node"
