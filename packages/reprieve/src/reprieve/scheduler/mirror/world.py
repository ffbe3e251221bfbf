"""The mirror of the cluster, kept event by event, and published as snapshots.

It believes what the cluster shows, and owns no promises: where a pod is promised to run, and what is
promised of volumes, it reads from the ledger, and counts in its columns. It tells the ledger's budget lag
which sights are new, since only the mirror knows which are outdated. The ledger knows nothing of the world.
Neither knows queues or decisions; the world says what a change could mean to the demands that wait.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import compress

import numpy as np

from reprieve.model.budgets import Budget, budgets_table
from reprieve.model.columns import Ints
from reprieve.model.conditions import scheduled_at
from reprieve.model.effects import Target
from reprieve.model.events import Change
from reprieve.model.groups import GROUP_KINDS, GroupKey, group_key
from reprieve.model.objects import (
    KubernetesObject,
    Namespace,
    Node,
    ObjectKey,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    runs,
)
from reprieve.model.owners import OWNER_KINDS, Namespaces, Owners, namespaces_table, owners_table
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.pods import importance
from reprieve.model.resources import STANDARD, ResourceAxis
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.storage import KINDS as STORAGE_KINDS
from reprieve.model.storage import InUse, Storage, volumes_in_use
from reprieve.preemption.toleration import toleration_of
from reprieve.scheduler.ledger.assumed import AssumedPods
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.mirror.growable_columns import grown, published
from reprieve.scheduler.mirror.node_rows import NodeRows
from reprieve.scheduler.mirror.object_changes import (
    Changes,
    capacity_of,
    facts_of,
    is_controlled_anew,
    is_heartbeat,
    is_newer,
    is_older,
    is_report,
    meaning,
    node_changes,
    recompiled,
    says_the_same,
)
from reprieve.scheduler.mirror.pod_rows import PodRows
from reprieve.scheduler.mirror.volumes import StorageMirror
from reprieve.scheduler.targets import pod_target

NONE: Changes = frozenset()
_ARRIVED: Changes = frozenset({Change.POD_ARRIVED})
_LEFT: Changes = frozenset({Change.POD_LEFT})
_MANY_RESOURCES = 64  # beyond that, resources that no pod and no node names are looked for


class World:
    def __init__(self, assumed: AssumedPods, budget_lag: BudgetLag) -> None:
        self.version = 0
        # Changes with everything that a decision about another demand could read: not with pods that wait,
        # with groups of which none runs, and with what is reported.
        self.edition = 0
        self.edition_of_nodes = 0  # changes when nodes get other rows
        self._axis = ResourceAxis()
        self._pods = PodRows()
        self._nodes = NodeRows()
        self._pods.widen(self._axis)
        self._nodes.widen(self._axis)
        self._where = np.full(0, NOWHERE, np.int64)
        self.groups = GroupMirror()
        self._assumed = assumed
        self._missed: dict[ObjectKey, str] = {}  # pods on nodes that are not known, and their nodes
        self._homeless: dict[str, set[ObjectKey]] = {}  # the same by node
        self._others: dict[type, dict[ObjectKey, KubernetesObject]] = {}
        self._namespaces: Namespaces | None = None
        self._storage_mirror = StorageMirror()
        self._storage: Storage | None = None
        self._volumes_in_use: InUse | None = None
        self._owners: Owners | None = None
        self._budgets: tuple[Budget, ...] | None = None
        self._shown_budgets: tuple[Budget, ...] | None = None
        self._budget_lag = budget_lag

    # --- what is shown ---

    def see(self, thing: KubernetesObject) -> Changes:
        """An object as it is now. Older versions than the one that is known are not believed."""
        self.version += 1
        match thing:
            case Pod() if runs(thing):
                return self._see_pod(thing)
            case Pod():
                return self._finished(thing)
            case Node():
                return self._see_node(thing)
            case _:
                return self._see_other(thing)

    def lose(self, target: Target) -> Changes:
        """An object is gone; not if it is a namesake of the one that is known."""
        self.version += 1
        match target.kind:
            case "Pod":
                compiled = self.pod((target.namespace, target.name))
                if compiled is None or compiled.pod.metadata.uid != target.uid:
                    return NONE
                return self._drop_pod((target.namespace, target.name))
            case "Node":
                return self._drop_node(target)
            case _:
                return self._lose_other(target)

    def replaced_by(self, thing: KubernetesObject) -> Target | None:
        """The object that is known by its name and is another one; None also if that one is newer."""
        kind, key = type(thing), (thing.metadata.namespace, thing.metadata.name)
        known: KubernetesObject | None
        if kind is Pod:
            compiled = self.pod(key)
            known = compiled.pod if compiled is not None else None
        else:
            known = self.node(key[1]) if kind is Node else self._others.get(kind, {}).get(key)
        if known is None or known.metadata.uid == thing.metadata.uid:
            return None
        older = is_older(thing.metadata, known.metadata)
        return None if older else Target(kind.__name__, *key, known.metadata.uid)

    def pod(self, key: ObjectKey) -> CompiledPod | None:
        row = self._pods.rows.get(key)
        return None if row is None else self._pods.compiled[row]

    def pods(self) -> Iterator[Pod]:
        """All pods that need room, or wait for it."""
        yield from (self._pods.compiled[row].pod for row in self._pods.rows.values())

    def is_ending(self, namespace: str) -> bool:
        """Whether the namespace, with all that is in it, is being deleted."""
        known = self._others.get(Namespace, {}).get(("", namespace))
        return known is not None and known.metadata.deletion_timestamp is not None

    def node(self, name: str) -> Node | None:
        row = self._nodes.rows.get(name)
        return None if row is None else self._nodes.objects[row]

    def node_of(self, key: ObjectKey) -> str:
        """The node where a pod counts; empty if it counts nowhere."""
        row = self._pods.rows.get(key)
        node = NOWHERE if row is None else int(self._where[row])
        return "" if node == NOWHERE else self._nodes.objects[node].metadata.name

    def is_placed(self, key: ObjectKey) -> bool:
        """Whether a pod has its node, or is promised one."""
        pod = self._pods.compiled[self._pods.rows[key]].pod
        return bool(pod.spec.node_name) or pod_target(pod) in self._assumed

    def sizes(self) -> dict[str, int]:
        """How much there is: nodes, pods on them, and those of these that are only assumed there."""
        placed = int(np.count_nonzero(self._where != NOWHERE))
        return {"nodes": len(self._nodes), "pods": placed, "assumed_pods": len(self._assumed)}

    def node_count(self) -> int:
        return len(self._nodes)

    def has_node(self, name: str) -> bool:
        return name in self._nodes.rows

    def row(self, key: ObjectKey) -> int:
        return self._pods.rows[key]

    def row_of(self, pod: Target) -> int | None:
        """None if the pod is not known, or if another of the same name is."""
        row = self._pods.rows.get((pod.namespace, pod.name))
        return row if row is not None and self._pods.compiled[row].pod.metadata.uid == pod.uid else None

    def births(self) -> Ints:
        """[pod] a number that no other pod has had: rows are used again."""
        return published(self._pods.born, len(self._pods))

    def row_of_node(self, name: str) -> int:
        """Valid for as long as ``edition_of_nodes`` is the same; NOWHERE if there is no such node."""
        return self._nodes.rows.get(name, NOWHERE)

    def has_budget(self, key: ObjectKey) -> bool:
        return key in self._others.get(PodDisruptionBudget, {})

    def claim(self, target: Target) -> PersistentVolumeClaim | None:
        """As the cluster shows it, whatever is promised; not a namesake of it."""
        match self._others.get(PersistentVolumeClaim, {}).get((target.namespace, target.name)):
            case PersistentVolumeClaim() as claim if claim.metadata.uid == target.uid:
                return claim
        return None

    # --- what is promised ---

    def count_anew(self, key: ObjectKey) -> Changes:
        """The ledger made or ended a promise to this pod: it counts where it is promised to be, or nowhere.

        When the cluster shows the pod on a node, no call is needed: what is shown overrides a promise.
        """
        self.version += 1
        return self._settle(key)

    def volume_steps_changed(self) -> Changes:
        """The ledger has made or ended promises about volumes: what is promised of them counts as done."""
        self.edition += 1
        return self._other_changed(PersistentVolume)

    # --- pods ---

    def _see_pod(self, pod: Pod) -> Changes:
        key = (pod.metadata.namespace, pod.metadata.name)
        old = self.pod(key)
        if old is None:
            return self._add_pod(key, compile_pod(pod))
        if is_older(pod.metadata, old.pod.metadata):
            return NONE
        if old.pod.metadata.uid != pod.metadata.uid:
            return self._drop_pod(key) | self._add_pod(key, compile_pod(pod))
        return self._change_pod(key, old, recompiled(pod, old))

    def _finished(self, pod: Pod) -> Changes:
        key = (pod.metadata.namespace, pod.metadata.name)
        old = self.pod(key)
        if old is None or is_older(pod.metadata, old.pod.metadata):
            return NONE
        return self._drop_pod(key)

    def _add_pod(self, key: ObjectKey, compiled: CompiledPod) -> Changes:
        self._widen(dict(compiled.shape.requests))
        row = self._pods.add(key, compiled)
        self._where = grown(self._where, len(self._pods), NOWHERE)
        self._where[row] = NOWHERE
        self._pods_changed(compiled)
        self.groups.join(group_key(compiled.pod), key)
        return self._settle(key)

    def _change_pod(self, key: ObjectKey, old: CompiledPod, new: CompiledPod) -> Changes:
        row = self._pods.rows[key]
        before = int(self._where[row])
        if (old.shape is new.shape or old.shape == new.shape) and facts_of(old.pod) == facts_of(new.pod):
            self._pods.note(row, new)
        else:
            self._widen(dict(new.shape.requests))
            # It leaves with its old weight and rank and comes back with the new ones.
            self._move(row, NOWHERE)
            self._pods.change(row, new)
            self.groups.leave(group_key(old.pod), key)
            self.groups.join(group_key(new.pod), key)
            self._pods_changed(old)
            self._pods_changed(new)
            self._move(row, before)
        if new.pod.metadata.deletion_timestamp is not None:
            self._begins_to_leave(old.pod)
        changes = self._settle(key)
        if scheduled_at(old.pod) != scheduled_at(new.pod) and self._is_counted(new.pod):
            changes |= {Change.CLOCKS}
        return changes | meaning(old, new) if before != NOWHERE or self._where[row] != NOWHERE else changes

    def _is_counted(self, pod: Pod) -> bool:
        """Whether any decision depends on since when a pod has run."""
        known = self.groups.classes.get(pod.spec.priority_class_name)
        tolerates = known is not None and toleration_of(known).seconds != 0
        return tolerates or group_key(pod) is not None

    def _drop_pod(self, key: ObjectKey) -> Changes:
        row = self._pods.rows[key]
        compiled = self._pods.compiled[row]
        changes = _LEFT if self._where[row] != NOWHERE else NONE
        self._move(row, NOWHERE)
        self._miss(key, "")
        changes |= self._has_left(compiled.pod)
        self._pods.drop(key)
        self.groups.leave(group_key(compiled.pod), key)
        self._pods_changed(compiled)
        return changes

    def _begins_to_leave(self, pod: Pod) -> None:
        if pod.metadata.deletion_timestamp is not None:
            return  # its deletion was seen before, and the budgets may have counted it since
        if self._budget_lag.on_terminating(pod_target(pod), pod, self._budgets_as_shown()):
            self._budgets = None

    def _has_left(self, pod: Pod) -> Changes:
        if not self._budget_lag.on_gone(pod_target(pod)):
            return NONE
        self._budgets = None
        return frozenset({Change.BUDGETS})

    def _settle(self, key: ObjectKey) -> Changes:
        """Puts a pod where it is shown to be, or else where it is promised to be.

        A promise is to one UID, so a namesake that takes the pod's place between two sights counts nowhere.
        """
        row = self._pods.rows[key]
        pod = self._pods.compiled[row].pod
        name = pod.spec.node_name or self._assumed.node_of(pod_target(pod))
        before, after = int(self._where[row]), self._nodes.rows.get(name, NOWHERE)
        self._miss(key, name if after == NOWHERE else "")
        self._move(row, after)
        if before == after:
            return NONE
        if before == NOWHERE:
            return _ARRIVED
        return _LEFT if after == NOWHERE else _LEFT | _ARRIVED

    def _move(self, row: int, node: int) -> None:
        before = int(self._where[row])
        if before == node:
            return
        rank = importance(self._pods.compiled[row].pod)
        if before != NOWHERE:
            self._nodes.leave(before, row, rank)
        if node != NOWHERE:
            self._nodes.enter(node, row, rank)
        self._where[row] = node
        self.edition += 1

    def _miss(self, key: ObjectKey, name: str) -> None:
        """Notes which node a pod will be on as soon as that is known; none, if it needs none."""
        before = self._missed.pop(key, "") if self._missed else ""
        if before:
            self._homeless[before].remove(key)
            if not self._homeless[before]:
                del self._homeless[before]
        if name:
            self._missed[key] = name
            self._homeless.setdefault(name, set()).add(key)

    def _pods_changed(self, compiled: CompiledPod) -> None:
        if compiled.shape.claims or compiled.shape.inline_volumes:
            self._volumes_in_use = None
        if self._namespaces is not None and compiled.shape.namespace not in self._namespaces.labels:
            self._namespaces = None

    def _widen(self, resources: Collection[str]) -> None:
        if self._axis.has(resources):
            return
        if len(self._axis.extended(resources).names) > _MANY_RESOURCES:
            self._forget_resources()  # perhaps also some of these, which no known object has
        self._axis = self._axis.extended(resources)
        self._pods.widen(self._axis)
        self._nodes.widen(self._axis)

    def _forget_resources(self) -> None:
        """Pods can ask for what no node has: rows of resources that no object names any more are given up."""
        used = self._pods.resources_in_use() | self._nodes.resources_in_use()
        used[: len(STANDARD)] = True
        if 2 * used.sum() <= len(used):
            self._axis = ResourceAxis(tuple(compress(self._axis.names, used)))
            self._pods.keep_resources(used)
            self._nodes.keep_resources(used)

    # --- nodes ---

    def _see_node(self, node: Node) -> Changes:
        name = node.metadata.name
        row = self._nodes.rows.get(name)
        if row is None:
            return self._add_node(node)
        old = self._nodes.objects[row]
        if is_older(node.metadata, old.metadata):
            return NONE
        if is_heartbeat(old, node):
            self._nodes.note(row, node)
            return NONE
        self.edition += 1
        before, capacity = capacity_of(old), capacity_of(node)
        self._widen(capacity)
        self._nodes.change(row, node, capacity, self._axis)
        if old.metadata.labels != node.metadata.labels:
            self._nodes_moved()
        return frozenset(node_changes(old, node, before, capacity))

    def _add_node(self, node: Node) -> Changes:
        capacity, name = capacity_of(node), node.metadata.name
        self._widen(capacity)
        self._nodes.add(node, capacity, self._axis)
        self.edition += 1
        self.edition_of_nodes += 1
        self._nodes_moved()
        for key in sorted(self._homeless.get(name, ())):
            self._settle(key)
        return frozenset({Change.NODE_ADDED})

    def _drop_node(self, target: Target) -> Changes:
        row = self._nodes.rows.get(target.name)
        if row is None or self._nodes.objects[row].metadata.uid != target.uid:
            return NONE
        leaving = [pod for _, pod in self._nodes.on_node[row]]
        for pod in leaving:
            self._move(pod, NOWHERE)
        row, moved = self._nodes.drop(target.name)
        self.edition += 1
        self.edition_of_nodes += 1
        self._where[self._where == moved] = row
        self._nodes_moved()
        for pod in leaving:
            metadata = self._pods.compiled[pod].pod.metadata
            self._settle((metadata.namespace, metadata.name))
        return frozenset({Change.NODE_GONE, Change.POD_LEFT} if leaving else {Change.NODE_GONE})

    def _nodes_moved(self) -> None:
        """Storage keeps columns over the nodes."""
        self._storage = self._volumes_in_use = None

    # --- everything else ---

    def _see_other(self, thing: KubernetesObject) -> Changes:
        known = self._others.setdefault(type(thing), {})
        key = (thing.metadata.namespace, thing.metadata.name)
        old = known.get(key)
        if old is not None and is_older(thing.metadata, old.metadata):
            return NONE
        known[key] = thing
        if isinstance(thing, PodDisruptionBudget) and is_newer(thing.metadata, old):
            self._budget_lag.on_shown(key)
        regrouped = self._regrouped(self.groups.see(thing))
        if regrouped or not (is_report(old, thing) or (old is None and type(thing) in GROUP_KINDS)):
            self.edition += 1
        if isinstance(thing, PriorityClass) and isinstance(old, PriorityClass) and says_the_same(old, thing):
            return regrouped
        if type(thing) in OWNER_KINDS and is_controlled_anew(old, thing):
            regrouped |= {Change.CONTROLLERS}
        return self._other_changed(type(thing)) | regrouped

    def too_deep_changed(self) -> tuple[list[GroupKey], Changes]:
        """The PodGroups that are too deep inside groups that have changed since this was last asked."""
        groups = self.groups.take_too_deep()
        if changes := self._regrouped(groups):
            self.edition += 1
        return groups, changes

    def _regrouped(self, groups: Iterable[GroupKey]) -> Changes:
        """What groups say matters to others only if some of their pods run."""
        members = (member for group in groups for member in self.groups.members(group))
        return frozenset({Change.GROUPS}) if any(map(self.is_placed, members)) else NONE

    def _lose_other(self, target: Target) -> Changes:
        key = (target.namespace, target.name)
        for kind, known in self._others.items():
            if kind.__name__ == target.kind and key in known and known[key].metadata.uid == target.uid:
                del known[key]
                self.edition += 1
                if kind is PodDisruptionBudget:
                    self._budget_lag.on_shown(key)
                return self._other_changed(kind) | self._regrouped(self.groups.lose(kind, key))
        return NONE

    def _other_changed(self, kind: type) -> Changes:
        if kind in STORAGE_KINDS:
            self._storage = self._volumes_in_use = None
            return frozenset({Change.STORAGE})
        if kind in OWNER_KINDS:
            self._owners = None
            return frozenset({Change.OWNERS})
        if kind is Namespace:
            self._namespaces = None
            return frozenset({Change.NAMESPACES})
        if kind in GROUP_KINDS:
            return frozenset({Change.CLOCKS})
        if kind is PriorityClass:
            return frozenset({Change.TOLERATIONS})
        if kind is PodDisruptionBudget:
            self._budgets = self._shown_budgets = None
            return frozenset({Change.BUDGETS})
        return NONE

    def _all(self, kinds: Iterable[type]) -> Iterator[KubernetesObject]:
        for kind in kinds:
            yield from self._others.get(kind, {}).values()

    # --- publishing ---

    def withdraw(self) -> None:
        """What was published is a view, which no copy of the world can share."""
        self.write_columns()
        self._pods.withdraw()

    def unwritten(self) -> int:
        """How many rows of pods and nodes have changed since the columns were written."""
        return self._pods.unwritten() + self._nodes.uncounted()

    def write_columns(self) -> None:
        """Brings the columns up to date, for all that changed since."""
        self._pods.write()
        self._nodes.count(self._pods.requests, self._pods.nonzero)

    def snapshot(self) -> Snapshot:
        """The cluster now, promises included. Valid until the next change."""
        self.write_columns()
        pods, nodes = self._pods.table(), self._nodes.table()
        if self._storage is None:
            self._storage = self._storage_mirror.storage(self._all(STORAGE_KINDS), self._assumed.steps())
        if self._volumes_in_use is None:
            users = ((row, self._pods.compiled[row].shape) for row in sorted(self._pods.with_volumes))
            self._volumes_in_use = volumes_in_use(self._storage, users, nodes.rows)
        if self._namespaces is None:
            shown = (n for n in self._all((Namespace,)) if isinstance(n, Namespace))
            self._namespaces = namespaces_table(shown, (key[0] for key in self._pods.rows))
        return Snapshot(
            version=self.version,
            axis=self._axis,
            nodes=nodes,
            pods=pods,
            allocatable=self._nodes.allocatable(),
            requested=self._nodes.requested(),
            nonzero=self._nodes.nonzero(),
            where=published(self._where, len(self._pods)),
            slots=self._nodes.slots(),
            namespaces=self._namespaces,
            storage=self._storage,
            volumes_in_use=self._volumes_in_use,
            owners=self.owners(),
            groups=self.groups.tree(),
            budgets=self._budget_table(),
            priority_classes=self.groups.classes,
            cached_scores=self._nodes.kept(),
        )

    def owners(self) -> Owners:
        if self._owners is None:
            self._owners = owners_table(self._all(OWNER_KINDS))
        return self._owners

    def _budget_table(self) -> tuple[Budget, ...]:
        if self._budgets is None:
            self._budgets = tuple(map(self._budget_lag.added_to, self._budgets_as_shown()))
        return self._budgets

    def _budgets_as_shown(self) -> tuple[Budget, ...]:
        if self._shown_budgets is None:
            self._shown_budgets = budgets_table(self._all((PodDisruptionBudget,)), [])
        return self._shown_budgets
